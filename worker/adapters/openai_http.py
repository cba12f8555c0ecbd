"""HTTP requests to OpenAI-compatible servers, without the SDK of OpenAI (``docs/decisions/0052``)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from worker import __version__
from worker.adapters.api_errors import ApiConnectionError, ApiStatusError, ProxyUnusable
from worker.adapters.error_bodies import error_fields, inner_error, message_of, parsed_body
from worker.adapters.http_environment import (
    environment_headers,
    environment_proxy,
    further_secrets,
    trusted_certificates,
)
from worker.adapters.secret_mask import SecretMask

KEEPALIVE_S: Final = 5.0
"""How long an unused connection stays open: the value of the SDK."""
REDIRECTS: Final = frozenset({307, 308})
"""Redirects that keep method and body."""
OF_GET: Final = REDIRECTS | {301, 302, 303}
MOST_REDIRECTS: Final = 5
HEADER_BYTES: Final = 65_536
"""Longest header that is read: some gateways send policies of more than aiohttp's 8 kB."""
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

    Nothing is retried here: the pipeline decides, counts and audits retries.

    Args:
        connections: most at once.
        observe: called after each request.
    """

    def __init__(
        self, base_url: str, api_key: str, *, connections: int, observe: ObserveRequest = lambda *_: None
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.mask = SecretMask(api_key, *further_secrets(self.base_url))
        self._observe = observe
        self._connections = connections
        self._headers = CIMultiDict(
            {
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": f"hushgate/{__version__}",
                "Authorization": f"Bearer {api_key}",
            }
        )
        self._headers.update(environment_headers())
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def post(self, path: str, body: Mapping[str, object]) -> Coroutine[Any, Any, ApiAnswer]:
        """The answer to a JSON body; the caller limits the time.

        Raises:
            ApiStatusError: the server refused the call.
            ApiConnectionError: there was no whole answer.
            ValueError: the body has a text that is not valid Unicode.
        """
        return self._answer("POST", path, body)

    def get(self, path: str) -> Coroutine[Any, Any, ApiAnswer]:
        """The answer to a GET; raises as ``post``."""
        return self._answer("GET", path, None)

    async def _answer(self, method: str, path: str, body: Mapping[str, object] | None) -> ApiAnswer:
        """The answer; redirects are followed to the same origin only, so that no other one gets a prompt."""
        started, outcome = time.perf_counter(), RequestOutcome.ANSWERED
        url, redirects_left = self._url(path), MOST_REDIRECTS
        try:
            while True:
                async with await self._sent(method, url, body) as response:
                    content = await _whole(response)
                if (further := _redirect_of(response, redirects_left)) is None:
                    return self._success(response, content)
                url, redirects_left = further, redirects_left - 1
        except aiohttp.ClientHttpProxyError as error:
            refusal = status_error(error.status, error.headers or {}, None, "refused by the proxy")
            outcome = _outcome(refusal)
            raise refusal from error
        except (aiohttp.ClientError, OSError) as error:
            outcome = RequestOutcome.CONNECTION
            raise ApiConnectionError(self.mask.text(_connection_words(error))) from error
        except BaseException as error:
            outcome = _outcome(error)
            raise
        finally:
            self._observe(outcome, time.perf_counter() - started)

    def _url(self, path: str) -> str:
        """The address of a path; a query of the base URL, such as ``api-version``, stands behind it."""
        base, mark, query = self.base_url.partition("?")
        return f"{base.rstrip('/')}{path}{mark}{query}"

    @cached_property
    def _proxy(self) -> str | None:
        return environment_proxy(self.base_url)

    def _sent(
        self, method: str, url: str, body: Mapping[str, object] | None
    ) -> Awaitable[aiohttp.ClientResponse]:
        data = None if body is None else SentOnce(_encoded(body))
        return self.opened().request(
            method, url, data=data, headers=self._headers, proxy=self._proxy, allow_redirects=False
        )

    def _success(self, response: aiohttp.ClientResponse, content: bytes) -> ApiAnswer:
        if not 200 <= response.status < 300:
            found = self.mask.json(parsed_body(content))  # some servers quote the key
            message = "" if isinstance(found, str) else message_of(inner_error(found))
            raise status_error(response.status, response.headers, found, message)
        return ApiAnswer(headers=response.headers, content=self.mask.answer(content))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def opened(self) -> aiohttp.ClientSession:
        """The session of the running event loop, opened at the first call or before."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections,
                    keepalive_timeout=KEEPALIVE_S,
                    ssl=trusted_certificates(),
                ),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                max_field_size=HEADER_BYTES,
            )
        return self._session


class SentOnce(aiohttp.BytesPayload):
    """A body that is freed once it is sent: an answer may take minutes, and orjson holds 8 to 64 kB."""

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:  # noqa: ARG002  # of the base
        """Send all of it; only a request without a body is sent a second time by aiohttp."""
        sent, self._value = self._value, b""
        await writer.write(sent)


def _outcome(error: BaseException) -> RequestOutcome:
    """The outcome of a failed request; a caller's time limit cancels it."""
    match error:
        case ApiStatusError(status=429):
            return RequestOutcome.RATE_LIMITED
        case ApiStatusError():
            return RequestOutcome.SERVER_ERROR if error.status >= 500 else RequestOutcome.REFUSED
        case ProxyUnusable():
            return RequestOutcome.CONNECTION
        case asyncio.CancelledError() | TimeoutError():
            return RequestOutcome.TIMEOUT
    return RequestOutcome.DEFECT


def _connection_words(error: Exception) -> str:
    """Why there was no whole answer: a name, a certificate, a port, an end before its time.

    Other errors of aiohttp may quote what the server sent, so that only their type is named.
    """
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"Connection error: {_certificate_words(error.certificate_error)}"
    is_plain = isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError)
    words = str(error).partition("\n")[0] if is_plain else ""
    return f"Connection error: {words or type(error).__name__}"


def _certificate_words(error: Exception) -> str:
    why = getattr(error, "verify_message", error)
    return f"certificate verify failed: {why}; SSL_CERT_FILE names a file of certificates to trust"


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


def _redirect_of(response: aiohttp.ClientResponse, left: int) -> str | None:
    """The address on the same origin to which an answer sends the same request, or None.

    Raises:
        aiohttp.TooManyRedirects: none is left.
    """
    location = response.headers.get("location")
    if response.status not in (OF_GET if response.method == "GET" else REDIRECTS) or not location:
        return None
    try:
        target = response.url.join(URL(location))
        is_same = target.origin() == response.url.origin()
    except ValueError:
        return None
    if is_same and not left:
        raise aiohttp.TooManyRedirects(response.request_info, ())
    return str(target) if is_same else None


def status_error(status: int, headers: Mapping[str, str], body: Any, message: str) -> ApiStatusError:
    """The error of a body; ``message`` is the server's message only, which quotes least."""
    text = f"Error code: {status} - {message}" if message else f"Error code: {status}"
    return ApiStatusError(text, status=status, headers=headers, body=error_fields(body))


def model_names(listed: ApiAnswer) -> frozenset[str]:
    """The names in the answer to GET /models, in an object or as a bare list.

    Raises:
        ValueError: the answer is not a list of models.
    """
    try:
        body: Any = orjson.loads(listed.content)
        return frozenset(str(each["id"]) for each in (body["data"] if isinstance(body, dict) else body))
    except (LookupError, TypeError) as error:
        raise ValueError("/models: expected a list of models") from error
