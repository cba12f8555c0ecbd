"""Connections to the review server: time limits and connection limits per client.

uvicorn 0.54 limits only idle connections between requests: a request that never ends is held forever. This
protocol counts the seconds that the server waits for the client.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TICK_S: Final = 1.0
LAST: Final = b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
TIMEOUT: Final = b"HTTP/1.1 408 Request Timeout" + LAST
TOO_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large" + LAST
BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5" + LAST


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one client and of all clients together.

    Attributes:
        headers_s: from the connection, or the first byte of a later request, to the end of its headers.
        header_bytes: request line and headers together; trailers, or what frames a chunk of a body.
        body_s: for the body, in addition to the time for its bytes.
        body_bytes_per_s: slowest allowed body.
        stall_s: while the client reads no byte of a waiting answer.
        per_address: connections of one ``client_network`` that is not a trusted proxy.
        overall: connections of all clients.
    """

    headers_s: float = 10.0
    header_bytes: int = 65_536
    body_s: float = 15.0
    body_bytes_per_s: int = 1_024
    stall_s: float = 60.0
    per_address: int = 64
    overall: int = 512


def client_network(address: str) -> str:
    """What limits count as one client: an IPv4 address, or the /64 of an IPv6 address, which one home has."""
    try:
        found = ip_address(address)
    except ValueError:  # a proxy may name a client as it likes
        return address
    if found.version == 4 or found.ipv4_mapped:
        return address
    return str(ip_network((int(found) >> 64 << 64, 64)))


class Phase(Enum):
    """What a connection waits for."""

    HEADERS = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()


GIVEN_UP: Final = {Phase.HEADERS: 2, Phase.IDLE: 2, Phase.BODY: 1}
"""Which connections make room for others, the greatest number first."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol with limits."""

    def __init__(self, *args: Any, limits: Limits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._phase, self._waited_s, self._received, self._around = Phase.HEADERS, 0.0, 0, 0
        self._stalled_s, self._unsent = 0.0, 0
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, or refuse when there are too many connections."""
        super().connection_made(transport)
        if self._over_limit():
            self._end(BUSY)
            return
        self._clock = self.loop.call_later(TICK_S, self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._clock is not None:
            self._clock.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read the data; headers that are too large end the connection."""
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEADERS)
        self._around += len(data)
        super().data_received(data)
        if self._around > self._limits.header_bytes:
            self._end(TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request; one before the answer to the former ends the parser: each would cost memory."""
        if self._is_answering:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            raise ConnectionAbortedError
        super().on_message_begin()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, unless an answer is under way, behind which the connection ends."""
        if not self._is_answering:
            super().send_400_response(msg)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def on_headers_complete(self) -> None:
        """The body is next."""
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._received, self._around = self._received + len(body), 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The answer is next; the server may have given it already."""
        super().on_message_complete()
        self._enter(Phase.IDLE if self.cycle.response_complete else Phase.ANSWER)

    def on_response_complete(self) -> None:
        """Another request may come once this one was read completely."""
        super().on_response_complete()
        if self._phase is Phase.ANSWER:
            self._enter(Phase.IDLE)

    def resume_writing(self) -> None:
        """The client reads."""
        self._stalled_s = 0.0
        super().resume_writing()

    @property
    def is_open(self) -> bool:
        """Whether it costs anything: also one that ends when its client has read the answer."""
        return not self.transport.is_closing() or self.transport.get_write_buffer_size() > 0

    @property
    def wait(self) -> tuple[int, float]:
        """2 while it waits for a request, 1 for its body, 0 once it has all; and for how many seconds."""
        return GIVEN_UP.get(self._phase, 0), self._waited_s

    def _enter(self, phase: Phase) -> None:
        self._phase, self._waited_s, self._received, self._around = phase, 0.0, 0, 0

    def _over_limit(self) -> bool:
        """Whether there are too many connections, and each has its whole request."""
        others, client = self._others(), client_network(_host(self))
        same_host = [each for each in others if client and client_network(_host(each)) == client]
        if len(same_host) >= self._limits.per_address and not self._trusted():
            return not _close_longest_idle(same_host)
        return len(others) >= self._limits.overall and not _close_longest_idle(others)

    def _others(self) -> list[LimitedProtocol]:
        found = cast("set[LimitedProtocol]", self.connections)
        return [each for each in found if each is not self and each.is_open]

    def _trusted(self) -> bool:
        """Whether a trusted proxy made the connection: it forwards the requests of many clients."""
        proxies = str(self.config.forwarded_allow_ips) if self.config.proxy_headers else ""
        named = [ip_network(each.strip()) for each in proxies.split(",") if each.strip()]
        return bool(self.client) and any(ip_address(_host(self)) in each for each in named)

    def _tick(self) -> None:
        self._clock = self.loop.call_later(TICK_S, self._tick)
        self._watch_reading()
        if self.transport.is_closing():  # when the client has read what waits
            return
        expects_data = self._phase is not Phase.BODY or not self.cycle.waiting_for_100_continue
        if expects_data and not self.flow.read_paused:  # else the server does not read
            self._waited_s += TICK_S
        limits = self._limits
        if self._phase is Phase.HEADERS and self._waited_s >= limits.headers_s:
            self._end(TIMEOUT)
        elif self._phase is Phase.BODY:
            allowed_s = limits.body_s + self._received / limits.body_bytes_per_s
            if self._waited_s >= allowed_s:
                self._end(b"" if self.cycle.response_started else TIMEOUT)

    def _watch_reading(self) -> None:
        """End a connection whose client does not read the answer."""
        unsent = self.transport.get_write_buffer_size()
        progress = unsent == 0 or unsent < self._unsent
        self._stalled_s = 0.0 if progress else self._stalled_s + TICK_S
        self._unsent = unsent
        if self._stalled_s >= self._limits.stall_s:
            self.transport.abort()

    def _end(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


def limited(limits: Limits = Limits()) -> type[asyncio.Protocol]:
    """The protocol class for uvicorn's ``http`` parameter."""
    return cast("type[asyncio.Protocol]", partial(LimitedProtocol, limits=limits))


def _host(connection: LimitedProtocol) -> str:
    return connection.client[0] if connection.client else ""


def _close_longest_idle(connections: list[LimitedProtocol]) -> bool:
    """Close the connection that has waited longest, an upload last; False when none waits."""
    longest = max(connections, key=lambda each: each.wait)
    if not longest.wait[0]:
        return False
    longest.transport.abort()
    return True
