"""One attempt of a webhook over HTTP; connects to addresses of the public internet only."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any, Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from worker import __version__
from worker.adapters.answer_head import CURRENT, AnswerHead, RecordingHandler
from worker.adapters.server_waits import retry_after_s
from worker.adapters.system_clock import seconds_since_boot
from worker.webhooks.addresses import AddressRefused, check_address, parse_url
from worker.webhooks.schedule import WAITING_STATUSES, AttemptError, AttemptResult, error_of_status

ATTEMPT_S: Final = 20.0
"""Limit of one attempt, from the look-up of the name to the end of the answer."""
ANSWER_BYTES: Final = 1024
"""How much of an answer's body is read and kept for display."""
LOOKUPS: Final = 128
"""Concurrent look-ups of names, on threads of their own: a name server that hangs delays nothing else. A name
takes one thread, however many attempts wait for it."""

Lookup = Callable[[str, int], list[tuple[Any, ...]]]


class ForbiddenAddress(OSError):
    """A name or a connection leads to an address that no webhook may be sent to."""


def look_up(host: str, port: int) -> list[tuple[Any, ...]]:
    """The addresses of a name, as ``socket.getaddrinfo`` returns them."""
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))


class WebhookSender:
    """Sends webhooks; an async context manager.

    The address is checked after the look-up, and again for the socket that connects to it: a name that has
    another address at the second look cannot lead to a private network. Proxies of the environment are not
    used, redirects are not followed, connections and cookies are not kept.

    Args:
        loopback: True allows http, and addresses of this machine: for tests and development.
        limit_s: longest attempt.
        seconds: a clock that counts while the process is stopped.
    """

    def __init__(
        self,
        *,
        loopback: bool,
        now: Callable[[], datetime],
        limit_s: float = ATTEMPT_S,
        lookup: Lookup = look_up,
        seconds: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._loopback = loopback
        self._now = now
        self._limit_s = limit_s
        self._lookup = lookup
        self._seconds = seconds
        self._threads: ThreadPoolExecutor | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="webhook-lookup")
        connector = _RecordingConnector(
            resolver=CheckedResolver(self._threads, self._lookup, loopback=self._loopback),
            use_dns_cache=False,
            limit=0,  # the poller limits attempts; a queue here would delay healthy endpoints
            force_close=True,
            socket_factory=self._open_socket,
        )
        traces = aiohttp.TraceConfig()
        traces.on_connection_create_end.append(self._check_time)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers={"Accept-Encoding": "identity"},  # the beginning of the body is shown to people
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[traces],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> AttemptResult:
        """Make one attempt; a failure is a result and never raised."""
        began = time.monotonic()
        result = await self._attempt(url, body, headers)
        return AttemptResult(
            error=result.error,
            status=result.status,
            answer=result.answer,
            retry_after_s=result.retry_after_s,
            duration_ms=(time.monotonic() - began) * 1000,
        )

    async def _attempt(self, url: str, body: bytes, headers: Mapping[str, str]) -> AttemptResult:
        head = AnswerHead()
        CURRENT.set(head)
        try:
            parse_url(url, loopback=self._loopback)  # the setting may have changed since it was stored
            async with asyncio.timeout(self._limit_s):
                return await self._exchange(url, body, headers)
        except (AddressRefused, aiohttp.InvalidURL) as error:
            return AttemptResult(error=AttemptError.ADDRESS_REFUSED, answer=str(error))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            if head.status is not None:  # the status says whether the receiver took it, whatever followed
                return self._result(head.status, head.body(ANSWER_BYTES), head.retry_after)
            return (
                AttemptResult(error=AttemptError.TIMEOUT)
                if isinstance(error, TimeoutError)
                else _failure(error)
            )

    async def _exchange(self, url: str, body: bytes, headers: Mapping[str, str]) -> AttemptResult:
        assert self._session is not None  # opened by ``__aenter__``
        known = {"Content-Type": "application/json", "User-Agent": f"Hushgate/{__version__}"}
        async with self._session.post(
            url,
            data=body,
            headers=known | dict(headers),
            allow_redirects=False,
            trace_request_ctx=self._seconds() + self._limit_s,
        ) as answer:
            start = await answer.content.read(ANSWER_BYTES)
            return self._result(answer.status, start, answer.headers.get("Retry-After"))

    def _result(self, status: int, start: bytes, retry_after: str | None) -> AttemptResult:
        wait = retry_after_s(retry_after, self._now().timestamp())
        return AttemptResult(
            error=error_of_status(status),
            status=status,
            answer=displayed(start),
            retry_after_s=wait if status in WAITING_STATUSES else None,
        )

    async def _check_time(self, _: aiohttp.ClientSession, request: SimpleNamespace, __: object) -> None:
        """Connected, the last moment before the request is sent.

        Raises:
            TimeoutError: the process was stopped, or the machine slept, since the attempt began.
        """
        if self._seconds() > request.trace_request_ctx:
            raise TimeoutError

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """The socket for an address, checked in the last moment before the connection."""
        family, kind, protocol, _, place = address
        try:
            check_address(ip_address(place[0]), loopback=self._loopback)
        except AddressRefused as error:
            raise ForbiddenAddress(str(error)) from error
        return socket.socket(family, kind, protocol)


class _RecordingConnector(aiohttp.TCPConnector):
    """Makes connections that record the head of their answer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: Callable[..., ResponseHandler] = RecordingHandler
        self._factory = partial(handler, loop=asyncio.get_running_loop())


class CheckedResolver(AbstractResolver):
    """Names to addresses; refuses a name when any of its addresses is forbidden."""

    def __init__(self, threads: ThreadPoolExecutor, lookup: Lookup, *, loopback: bool) -> None:
        self._threads = threads
        self._lookup = lookup
        self._loopback = loopback
        self._running: dict[tuple[str, int], asyncio.Future[list[tuple[Any, ...]]]] = {}

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002  # of the interface
    ) -> list[ResolveResult]:
        """The checked addresses of a name.

        Raises:
            ForbiddenAddress: one of them is not of the public internet.
            OSError: the name has none.
        """
        found = await asyncio.shield(self._looked_up(host, port))
        for each in found:
            try:
                check_address(ip_address(each[4][0]), loopback=self._loopback)
            except AddressRefused as error:
                raise ForbiddenAddress(f"{host}: {error}") from error
        return [
            ResolveResult(
                hostname=host,
                host=each[4][0],
                port=port,
                family=each[0],
                proto=each[2],
                flags=socket.AI_NUMERICHOST,
            )
            for each in found
        ]

    def _looked_up(self, host: str, port: int) -> asyncio.Future[list[tuple[Any, ...]]]:
        """The look-up of the name that runs, or a new one; it ends after attempts that wait no longer."""
        if (running := self._running.get((host, port))) is None:
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._threads, self._lookup, host, port)
            self._running[host, port] = running
            running.add_done_callback(lambda done: self._end_lookup(host, port, done))
        return running

    def _end_lookup(self, host: str, port: int, done: asyncio.Future[list[tuple[Any, ...]]]) -> None:
        del self._running[host, port]
        if not done.cancelled():
            done.exception()  # no attempt may wait for it any more, and asyncio would log it

    async def close(self) -> None:
        """Close nothing: the sender ends the threads."""


def displayed(start: bytes) -> str:
    """The beginning of an answer as text that can be stored; unreadable bytes are replaced."""
    return start[:ANSWER_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")


def _failure(error: Exception) -> AttemptResult:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    match error:
        case _ if isinstance(cause, ForbiddenAddress):
            return AttemptResult(error=AttemptError.ADDRESS_REFUSED, answer=str(cause))
        case aiohttp.ClientConnectorDNSError() | UnicodeError():  # a label of too many characters
            kind = AttemptError.NAME_NOT_RESOLVED
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            kind = AttemptError.TLS
        case aiohttp.ClientConnectorError():
            kind = AttemptError.NOT_CONNECTED
        case _:
            kind = AttemptError.BROKEN_OFF
    return AttemptResult(error=kind)
