"""How many events of an account are decided at once, over the whole fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from itertools import count
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

LEASE_S: Final = 15.0
"""Slots of a killed worker are free again after so long."""
RENEW_S: Final = 4.0
LOOK_S: Final = 0.25
"""Pause between two looks for a slot that another worker may have freed; one look for all that wait."""
ANSWER_S: Final = 1.0


@dataclass(slots=True)
class _Waiting:
    """The events of an account in this process."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    users: int = 0


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
        self._script = redis.register_script(
            (resources.files("tasks") / "limits" / "lua" / "slot.lua").read_text()
        )
        self._prefix = prefix
        self._worker = worker
        self._sleep = sleep
        self._numbers = count(1)
        self._accounts: dict[str, _Waiting] = {}
        self._held: dict[str, str] = {}

    @asynccontextmanager
    async def slot(self, user_id: str, most: int, left_s: float) -> AsyncIterator[None]:
        """One of the account's slots; none after ``left_s`` seconds, when the event is too late anyway."""
        member = f"{self._worker}:{next(self._numbers)}"
        account = self._accounts.setdefault(user_id, _Waiting())
        account.users += 1
        try:
            try:
                async with asyncio.timeout(max(0.0, left_s)):
                    await self._acquire(account, user_id, member, most)
            except TimeoutError:
                log.warning("slot_not_awaited", user_id=user_id)
            yield
        finally:
            account.users -= 1
            if not account.users:
                self._accounts.pop(user_id, None)
            await self._release(account, user_id, member)

    async def renew_forever(self) -> None:
        """Renew the leases of this process until cancelled."""
        while True:
            await asyncio.sleep(RENEW_S)
            for member, user_id in tuple(self._held.items()):
                await self._call(user_id, member, 0, renew=True)

    async def _acquire(self, account: _Waiting, user_id: str, member: str, most: int) -> None:
        async with account.turn:
            while not await self._call(user_id, member, most):
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
            self._held[member] = user_id

    async def _release(self, account: _Waiting, user_id: str, member: str) -> None:
        if self._held.pop(member, None) is None:
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._redis.zrem(self._key(user_id), member)
        except (RedisError, OSError) as error:
            log.debug("slot_not_released", error=type(error).__name__)  # its lease ends
        account.freed.set()

    async def _call(self, user_id: str, member: str, most: int, *, renew: bool = False) -> bool:
        """Whether the member has a slot; while Redis does not answer every event has one."""
        values: list[str | int] = [member, most, int(LEASE_S * 1000), int(renew)]
        try:
            async with asyncio.timeout(ANSWER_S):
                found: Any = await self._script(keys=[self._key(user_id)], args=values)
        except (RedisError, OSError) as error:
            log.debug("slots_not_counted", error=type(error).__name__)
            return True
        return bool(found)

    def _key(self, user_id: str) -> str:
        return slots_key(self._prefix, user_id)


def slots_key(prefix: str, user_id: str) -> str:
    """The sorted set of an account's slots."""
    return f"{prefix}:slots:{user_id}"
