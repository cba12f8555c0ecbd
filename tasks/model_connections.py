"""The ports over the model servers in force; a change of servers is used by the next event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from tasks.upstreams import Endpoints
from worker.errors import StorageUnavailable
from worker.ports import Ports
from worker.settings import Settings, StoredServer

log = structlog.get_logger(__name__)

FIX: Final = "connect it on the page Connect, or set these variables"


@dataclass(slots=True, kw_only=True)
class ModelConnection:
    """Clients of one choice of servers, with the ports over them; ``uses`` counts running events."""

    endpoints: Endpoints
    ports: Ports
    uses: int = 0


class ModelConnections:
    """The servers of the environment, completed by the stored ones.

    While a role lacks a server there are no ports: no event is read, and the stream holds them.

    Args:
        settings: of the environment.
        load: the stored servers; raises ``StorageUnavailable``.
        connect: opens the clients of the servers of these settings.
    """

    def __init__(
        self,
        settings: Settings,
        load: Callable[[], Awaitable[Sequence[StoredServer]]],
        connect: Callable[[Settings], ModelConnection],
    ) -> None:
        self._settings = settings
        self._load = load
        self._connect = connect
        self._stored: Sequence[StoredServer] | None = None
        self._current: ModelConnection | None = None
        self._connected = asyncio.Event()

    @property
    def connected(self) -> bool:
        """Whether events can be decided."""
        return self._connected.is_set()

    def uses(self, endpoints: Endpoints) -> bool:
        """Whether new events call these clients."""
        return self._current is not None and self._current.endpoints is endpoints

    async def start(self) -> None:
        """Connect; with the servers of the environment alone while the stored ones cannot be read."""
        try:
            await self.refresh()
        except StorageUnavailable:
            await self._use(())
            self._stored = None

    async def refresh(self) -> None:
        """Use what is stored now.

        Running events keep the clients that they began with; held events begin again.

        Raises:
            StorageUnavailable: the stored servers cannot be read.
        """
        stored = tuple(await self._load())
        if stored != self._stored:
            await self._use(stored)
            self._stored = stored

    def in_use(self) -> UsedConnection:
        """The ports for one event, once there are any; their clients stay open until it ends."""
        return UsedConnection(self)

    async def begin(self) -> ModelConnection:
        """The servers in force, counted as used; ``end`` must follow."""
        while (current := self._current) is None:
            await self._connected.wait()
        current.uses += 1
        return current

    async def end(self, used: ModelConnection) -> None:
        """Count a use less; clients that nothing uses any more are closed."""
        used.uses -= 1
        await self._close_unused(used)

    async def close(self) -> None:
        """Close the clients."""
        if self._current is not None:
            await self._current.endpoints.close()

    async def _use(self, stored: Sequence[StoredServer]) -> None:
        settings, before = self._settings.with_stored(stored), self._current
        for each in stored:
            if each.unreadable:
                fix = "give workers and review pages the same HUSHGATE_SECRETS_KEY, or enter the key again"
                log.error("model_key_unreadable", role=each.role.value, fix=fix)
        if (problem := settings.models_problem) is not None:
            log.error("models_not_connected", problem=problem, fix=FIX)
            self._connected.clear()
            self._current = None
        else:
            self._current = self._connect(settings)
            self._connected.set()
            log.info("models_connected", model=settings.servers.model.model, stored=len(stored))
        if before is not None:
            await self._close_unused(before)

    async def _close_unused(self, connection: ModelConnection) -> None:
        if connection is not self._current and not connection.uses:
            await connection.endpoints.close()


class UsedConnection:
    """The servers that one event uses."""

    __slots__ = ("_connections", "_used")
    _used: ModelConnection

    def __init__(self, connections: ModelConnections) -> None:
        self._connections = connections

    async def __aenter__(self) -> Ports:
        self._used = await self._connections.begin()
        return self._used.ports

    async def __aexit__(self, *_: object) -> None:
        await self._connections.end(self._used)
