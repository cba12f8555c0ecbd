"""POST to an OpenAI-compatible server over aiohttp, with the headers, errors and redirects of the SDK.

The SDK builds and parses each request through several layers: 1.4 ms CPU a call, this module 0.3 ms
(``docs/decisions/0052``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai
import orjson
from openai import AsyncOpenAI, DefaultAioHttpClient
from yarl import URL

from worker.adapters.error_bodies import inner_error, message_of, parsed_body
from worker.adapters.secret_mask import SecretMask

KEEPALIVE_S: Final = 5.0
"""How long an unused connection stays open: the value of the SDK."""
STATUS_ERRORS: Final[Mapping[int, type[openai.APIStatusError]]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}
"""The SDK's class by status; from 500 it is ``InternalServerError``, else ``APIStatusError``."""


REDIRECTS: Final = frozenset({307, 308})
"""Those that keep method and body."""
MOST_REDIRECTS: Final = 5
MOST_ANSWER_BYTES: Final = 32 * 2**20
"""A batch of large embeddings is 7 MB; without a limit 389 KB of gzip took 2 GB of memory."""


class RequestOutcome(StrEnum):
    """How one HTTP request ended."""

    ANSWERED = "answered"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    SERVER_ERROR = "server_error"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    DEFECT = "defect"


ObserveRequest = Callable[[RequestOutcome, float], None]
"""Called after each request, with its duration in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """A whole answer with a status of success."""

    headers: Mapping[str, str]
    content: bytes


class ApiClient:
    """The connections to one endpoint.

    Args:
        sdk: holds address, key and headers.
        connections: most at once.
        observe: called after each request.
    """

    def __init__(
        self, sdk: AsyncOpenAI, *, connections: int, observe: ObserveRequest = lambda *_: None
    ) -> None:
        self.sdk = sdk
        self._observe = observe
        self._connections = connections
        self._base_url = str(sdk.base_url).rstrip("/")
        self._proxy = environment_proxy(self._base_url)
        prepared = {**sdk.auth_headers, **sdk.default_headers}
        self._headers = {name: value for name, value in prepared.items() if isinstance(value, str)}
        self.mask = SecretMask(sdk.api_key)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def post(self, path: str, body: Mapping[str, object]) -> ApiAnswer:
        """The answer to a JSON body; the caller limits the time.

        Raises:
            APIStatusError: the server refused the call.
            APIConnectionError: there was no whole answer; its cause is aiohttp's error.
            ValueError: the body has a text that is not valid Unicode.
        """
        url, data = self._base_url + path, _encoded(body)
        with self.observed():
            try:
                response, content = await self._exchange(url, data)
            except (aiohttp.ClientError, OSError) as error:
                raise openai.APIConnectionError(request=httpx2.Request("POST", url)) from error
            if not 200 <= response.status < 300:
                found = self.mask.json(parsed_body(content))  # some servers quote the key
                message = "" if isinstance(found, str) else message_of(inner_error(found))
                raise status_error(url, response.status, response.headers, found, message)
        return ApiAnswer(headers=response.headers, content=self.mask.answer(content))

    async def _exchange(self, url: str, data: bytes) -> tuple[aiohttp.ClientResponse, bytes]:
        """The answer; redirects are followed to the same origin only, so that no other one gets a prompt."""
        for _ in range(MOST_REDIRECTS + 1):
            call = self.opened().post(
                url, data=data, headers=self._headers, proxy=self._proxy, allow_redirects=False
            )
            async with call as response:
                content = await _whole(response)
            if (further := _redirect_of(response)) is None:
                return response, content
            url = further
        raise aiohttp.TooManyRedirects(response.request_info, ())

    @contextmanager
    def observed(self) -> Iterator[None]:
        """Time one request and report its outcome; errors rise."""
        started, outcome = time.perf_counter(), RequestOutcome.ANSWERED
        try:
            yield
        except BaseException as error:
            outcome = _outcome(error)
            raise
        finally:
            self._observe(outcome, time.perf_counter() - started)

    async def close(self) -> None:
        """Close all connections."""
        await self.sdk.close()
        if self._session is not None:
            await self._session.close()

    def opened(self) -> aiohttp.ClientSession:
        """The session, opened at the first call or before: it belongs to the running event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections,
                    keepalive_timeout=KEEPALIVE_S,
                    ssl=httpx2.create_ssl_context(),  # the certificates that the SDK trusts
                ),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def open_client(
    base_url: str, api_key: str, *, connections: int, observe: ObserveRequest = lambda *_: None
) -> ApiClient:
    """A client without automatic retries: the pipeline decides, counts and audits them."""
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    sdk = AsyncOpenAI(
        base_url=base_url, api_key=api_key, max_retries=0, http_client=DefaultAioHttpClient(limits=limits)
    )
    return ApiClient(sdk, connections=connections, observe=observe)


def environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address, as ``HTTPS_PROXY`` and ``NO_PROXY`` say."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    found = getproxies()
    return found.get(parts.scheme) or found.get("all")


def _outcome(error: BaseException) -> RequestOutcome:
    """The outcome of a failed request; a caller's time limit cancels it."""
    match error:
        case openai.RateLimitError():
            return RequestOutcome.RATE_LIMITED
        case openai.APIStatusError():
            return RequestOutcome.SERVER_ERROR if error.status_code >= 500 else RequestOutcome.REFUSED
        case asyncio.CancelledError() | TimeoutError() | openai.APITimeoutError():
            return RequestOutcome.TIMEOUT
        case openai.APIConnectionError():
            return RequestOutcome.CONNECTION
    return RequestOutcome.DEFECT


def _encoded(body: Mapping[str, object]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError as error:
        raise ValueError(f"body: expected JSON values ({error})") from error


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer.

    Raises:
        ValueError: it is larger than any answer of this API.
    """
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MOST_ANSWER_BYTES:
            raise ValueError(f"answer: expected at most {MOST_ANSWER_BYTES} bytes, got more")
    return b"".join(parts)


def _redirect_of(response: aiohttp.ClientResponse) -> str | None:
    """The address on the same origin to which an answer sends the same request, or None."""
    location = response.headers.get("location")
    if response.status not in REDIRECTS or not location:
        return None
    try:
        target = response.url.join(URL(location))
        is_same = target.origin() == response.url.origin()
    except ValueError:
        return None
    return str(target) if is_same else None


def status_error(
    url: str, status: int, headers: Mapping[str, str], body: Any, message: str
) -> openai.APIStatusError:
    """The SDK's error of a body; ``message`` is the server's message only, which quotes least."""
    found = inner_error(body)
    default = openai.InternalServerError if status >= 500 else openai.APIStatusError
    answer = httpx2.Response(
        status,
        headers=[(name, value) for name, value in headers.items() if name.lower() != "content-encoding"],
        request=httpx2.Request("POST", url),
    )
    text = f"Error code: {status} - {message}" if message else f"Error code: {status}"
    return STATUS_ERRORS.get(status, default)(text, response=answer, body=found)
