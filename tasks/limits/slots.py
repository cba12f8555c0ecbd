"""How many events of an account are decided at once, over the whole fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from itertools import count
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.shards.clients import LuaScript

log = structlog.get_logger(__name__)

LEASE_S: Final = 15.0
"""Slots of a killed worker are free again after so long."""
LOOK_S: Final = 0.25
"""Pause between two looks for a slot that another worker may have freed; one look for all that wait."""
ANSWER_S: Final = 1.0
LEASE: Final = (resources.files("tasks") / "limits" / "lua" / "lease.lua").read_text()


@dataclass(slots=True)
class _Waiting:
    """The events of an account in this process."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    users: int = 0


SlotLimit = Callable[[], Awaitable[int]]


async def _in_place(wait: Coroutine[Any, Any, None]) -> None:
    await wait


@dataclass(slots=True, kw_only=True)
class Slot:
    """The slot of one event.

    Attributes:
        limit: how many events of the account may have one now; asked before each look.
        last_s: the loop's time after which it is not awaited: the event is too late anyway.
        waits: awaits it.
        pauses: pauses under way during which others may have it.
    """

    slots: Slots
    account: _Waiting
    user_id: str
    member: str
    limit: SlotLimit
    last_s: float
    waits: Callable[[Coroutine[Any, Any, None]], Awaitable[None]]
    pauses: int = 0

    async def take(self) -> None:
        """Wait for the slot until ``last_s``, then continue without a slot."""
        if asyncio.get_running_loop().time() >= self.last_s:
            return
        try:
            async with asyncio.timeout_at(self.last_s):
                await self.waits(self.slots.acquire(self))
        except TimeoutError:
            log.warning("slot_not_awaited", user_id=self.user_id)

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """Others may have it while inside; afterwards it is awaited again."""
        self.pauses += 1
        try:
            if self.pauses == 1:
                await self.slots.release(self)
            yield
        finally:
            self.pauses -= 1
        if not self.pauses:
            await self.take()


class Slots:
    """Slots of accounts, held in Redis as leases.

    Args:
        prefix: of the keys, with the hash tag of the stream.
        sleep: of the worker's clock, so that a drain ends the wait.
    """

    def __init__(
        self, redis: Redis, *, prefix: str, worker: str, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._redis = redis
        self._leases = LuaScript(redis, LEASE)
        self._prefix = prefix
        self._worker = worker
        self._sleep = sleep
        self._numbers = count(1)
        self._accounts: dict[str, _Waiting] = {}
        self._held: dict[str, str] = {}
        self._asked: set[str] = set()

    @asynccontextmanager
    async def slot(
        self,
        user_id: str,
        limit: SlotLimit,
        left_s: float,
        waits: Callable[[Coroutine[Any, Any, None]], Awaitable[None]] = _in_place,
    ) -> AsyncIterator[Slot]:
        """A slot of the account; without one after ``left_s`` seconds, when the event is too late anyway.

        ``waits`` awaits it; it may end the wait with an error.
        """
        account = self._accounts.setdefault(user_id, _Waiting())
        slot = Slot(
            slots=self,
            account=account,
            user_id=user_id,
            member=f"{self._worker}:{next(self._numbers)}",
            limit=limit,
            last_s=asyncio.get_running_loop().time() + left_s,
            waits=waits,
        )
        account.users += 1
        try:
            await slot.take()
            yield slot
        finally:
            account.users -= 1
            if not account.users:
                self._accounts.pop(user_id, None)
            await self.release(slot)

    async def renew(self) -> None:
        """Renew all leases of this process in one round trip, however many they are."""
        held: dict[str, list[str]] = {}
        for member, user_id in self._held.items():
            held.setdefault(user_id, []).append(member)
        if not held:
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._lease(held, most=0)
        except (RedisError, OSError) as error:
            log.debug("slots_not_renewed", error=type(error).__name__)

    async def acquire(self, slot: Slot) -> None:
        """Wait without limit until the event has its slot."""
        account = slot.account
        async with account.turn:
            self._asked.add(slot.member)
            while not await self._call(slot.user_id, slot.member, await slot.limit()):
                account.freed.clear()
                look = asyncio.ensure_future(self._sleep(LOOK_S))
                freed = asyncio.ensure_future(account.freed.wait())
                try:
                    await asyncio.wait({look, freed}, return_when=asyncio.FIRST_COMPLETED)
                    if look.done():
                        look.result()
                finally:
                    look.cancel()
                    freed.cancel()
            self._held[slot.member] = slot.user_id

    async def release(self, slot: Slot) -> None:
        """Give the slot back; also one that Redis gave and whose wait ended before its answer."""
        self._held.pop(slot.member, None)
        if slot.member not in self._asked:
            return
        self._asked.remove(slot.member)
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._redis.zrem(self._key(slot.user_id), slot.member)
        except (RedisError, OSError) as error:
            log.debug("slot_not_released", error=type(error).__name__)  # its lease ends
        slot.account.freed.set()

    async def _call(self, user_id: str, member: str, most: int) -> bool:
        """Whether the member has a slot; while Redis does not answer every event has one."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._lease({user_id: [member]}, most=most) > 0
        except (RedisError, OSError) as error:
            log.debug("slots_not_counted", error=type(error).__name__)
            return True

    async def _lease(self, members: Mapping[str, Sequence[str]], *, most: int) -> int:
        """Take or renew leases of accounts' members; how many of them have one. ``most`` 0 only renews."""
        values: list[str | int] = [int(LEASE_S * 1000), most]
        for each in members.values():
            values += [len(each), *each]
        return int(await self._leases(keys=[self._key(user_id) for user_id in members], args=values))

    def _key(self, user_id: str) -> str:
        return slots_key(self._prefix, user_id)


def slots_key(prefix: str, user_id: str) -> str:
    """The sorted set of an account's slots."""
    return f"{prefix}:slots:{user_id}"
