"""A TCP proxy on loopback whose links can be reset, held, slowed and forgotten."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar, cast

import uvloop

from chaos.fleet.statements import PreparedStatements

Value = TypeVar("Value")
Target: TypeAlias = "str | tuple[str, int]"
"""The path of a Unix socket, or host and port."""
RST_AT_CLOSE: Final = struct.pack("ii", 1, 0)
CALL_S: Final = 30.0


class Side(asyncio.Protocol):
    """One end of a pair; what it receives goes to ``other``."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.transport: asyncio.Transport | None = None
        self.queue: deque[tuple[float, bytes]] = deque()

    @property
    def other(self) -> Side:
        """The end across the proxy."""
        return self.pair.server if self is self.pair.client else self.pair.client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to forward; a client's connection opens the one to the server."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        if self is self.pair.client:
            self.pair.connect()
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Queue for the other end."""
        link = self.pair.link
        if self.pair.forgotten:
            return
        if self.pair.statements is not None and self is self.pair.client:
            self.pair.statements.feed(data)
        self.other.queue.append((link.loop.time() + link.latency_s, data))
        if link.latency_s:
            link.slowed_bytes += len(data)
        self.other.flush()

    def flush(self) -> None:
        """Write what is due and not held."""
        link, transport = self.pair.link, self.transport
        if transport is None or not self.queue:
            return
        if transport.is_closing():
            self.queue.clear()
            return
        if link.holds_answers and (link.holds_requests or self is self.pair.client):
            link.held_bytes += sum(len(data) for _, data in self.queue)
            return
        now = link.loop.time()
        while self.queue and self.queue[0][0] <= now:
            transport.write(self.queue.popleft()[1])
        if self.queue:
            link.loop.call_at(self.queue[0][0], self.flush)

    def pause_writing(self) -> None:
        """Stop reading from the other end."""
        if self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read from the other end again."""
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  # as asyncio calls it
        """Close the other end too, unless it was dropped on purpose."""
        if not (self.pair.forgotten and self is self.pair.server):
            self.pair.close()

    def abort(self) -> None:
        """End with RST."""
        if self.transport is not None:
            with suppress(OSError, ValueError, AttributeError):  # it is closed already
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, RST_AT_CLOSE
                )
            self.transport.abort()


class Pair:
    """A connection of a process and the one to the server behind it."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.client, self.server = Side(self), Side(self)
        self.forgotten = False
        self.statements = PreparedStatements() if link.to_postgres else None
        self._opening: asyncio.Task[None] | None = None
        link.pairs.add(self)

    def connect(self) -> None:
        """Open the connection to the server."""
        self._opening = self.link.loop.create_task(self._connect())

    async def _connect(self) -> None:
        target, loop = self.link.target(), self.link.loop
        try:
            if isinstance(target, str):
                await loop.create_unix_connection(lambda: self.server, target)
            else:
                await loop.create_connection(lambda: self.server, *target)
        except OSError:
            self.reset()
        else:
            if self not in self.link.pairs:  # the client was gone first
                self.server.abort()

    def close(self) -> None:
        """End both connections; what was received is written first."""
        self.link.pairs.discard(self)
        for side in (self.client, self.server):
            if side.transport is not None and not side.transport.is_closing():
                side.transport.close()

    def reset(self) -> None:
        """End both connections with RST."""
        self.link.pairs.discard(self)
        self.client.abort()
        self.server.abort()

    def forget(self) -> None:
        """The server loses the connection and the process does not learn of it."""
        self.forgotten = True
        self.server.abort()


@dataclass(slots=True, eq=False)
class Link:
    """The way of one process to one server.

    Attributes:
        target: where the server listens now.
        to_postgres: the prepared statements of its connections are counted.
        holds_answers: what the server sends is kept back; with ``holds_requests`` the other direction too.
        held_bytes, slowed_bytes: what faults did, as evidence.
    """

    name: str
    target: Callable[[], Target]
    loop: asyncio.AbstractEventLoop
    to_postgres: bool = False
    port: int = 0
    latency_s: float = 0.0
    holds_answers: bool = False
    holds_requests: bool = False
    held_bytes: int = 0
    slowed_bytes: int = 0
    pairs: set[Pair] = field(default_factory=set)

    def prepared_statements(self) -> tuple[int, ...]:
        """How many each connection has prepared."""
        return tuple(
            len(pair.statements.names)
            for pair in self.pairs
            if pair.statements is not None and not pair.forgotten
        )

    def open_again(self) -> None:
        """End every fault of the link; forgotten connections get RST, as from a peer without them."""
        self.latency_s, self.holds_answers, self.holds_requests = 0.0, False, False
        for pair in list(self.pairs):
            if pair.forgotten:
                pair.reset()
            else:
                pair.client.flush()
                pair.server.flush()

    def reset(self) -> int:
        """RST to every connection; how many."""
        pairs = list(self.pairs)
        for pair in pairs:
            pair.reset()
        return len(pairs)

    def forget(self) -> int:
        """Every connection becomes half-open; how many."""
        pairs = list(self.pairs)
        for pair in pairs:
            pair.forget()
        return len(pairs)


class Network:
    """All links, on an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()
        self._listening: list[asyncio.Server] = []
        self.links: dict[str, Link] = {}

    def open_link(self, name: str, target: Callable[[], Target], *, to_postgres: bool = False) -> Link:
        """Listen on a free port for a process's connections to a server."""
        link = Link(name=name, target=target, loop=self._loop, to_postgres=to_postgres)

        async def listen() -> int:
            made = await self._loop.create_server(lambda: Pair(link).client, "127.0.0.1", 0)
            server = cast("asyncio.Server", made)  # uvloop's is no subclass
            self._listening.append(server)
            return int(server.sockets[0].getsockname()[1])

        link.port = asyncio.run_coroutine_threadsafe(listen(), self._loop).result(CALL_S)
        self.links[name] = link
        return link

    def call(self, work: Callable[[], Value]) -> Value:
        """The value of a call on the loop of the links."""

        async def run() -> Value:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(CALL_S)

    def heal(self) -> None:
        """End every fault."""
        for link in self.links.values():
            self.call(link.open_again)

    def stop(self) -> None:
        """End all connections and the thread."""
        for server in self._listening:
            self.call(server.close)
        for link in self.links.values():
            self.call(link.reset)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
