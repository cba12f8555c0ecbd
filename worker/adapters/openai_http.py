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

from worker.adapters.error_bodies import inner_error, message_of, parsed_body

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
        call = self.opened().post(url, data=data, headers=self._headers, proxy=self._proxy)
        with self.observed():
            try:
                async with call as response:
                    content = await response.read()
            except (aiohttp.ClientError, OSError) as error:
                raise openai.APIConnectionError(request=httpx2.Request("POST", url)) from error
            if not 200 <= response.status < 300:
                raise status_error(url, response.status, response.headers, content)
        return ApiAnswer(headers=response.headers, content=content)

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


def status_error(
    url: str, status: int, headers: Mapping[str, str], content: bytes, error: Any = None
) -> openai.APIStatusError:
    """The SDK's error of an answer; its message has the server's message only, which quotes least.

    ``error`` is the error inside an answer of success, else it is read from the content.
    """
    body = parsed_body(content) if error is None else error
    found = inner_error(body)
    default = openai.InternalServerError if status >= 500 else openai.APIStatusError
    answer = httpx2.Response(
        status,
        headers=[(name, value) for name, value in headers.items() if name.lower() != "content-encoding"],
        content=content,
        request=httpx2.Request("POST", url),
    )
    message = "" if error is None and isinstance(body, str) else message_of(found)
    text = f"Error code: {status} - {message}" if message else f"Error code: {status}"
    return STATUS_ERRORS.get(status, default)(text, response=answer, body=found)
