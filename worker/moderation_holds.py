"""Events that wait for a moderator's next attempt or for their account's limits: how many, and where."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol

from worker.model import Event

CLOSED_S: Final = 10.0
"""How long an account without held events gets none after one was put back; the longest pause of a hold."""


def _nothing() -> None:
    return None


class EventSlot(Protocol):
    """The slot of one event among those that its account decides at once."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Others may have the slot while inside; afterwards it is awaited again."""
        ...


@dataclass(slots=True, kw_only=True)
class Holds:
    """The held events of one process. A held event leaves its place in flight to others until its next call.

    Beyond the limits a held event is put back: its run ends as if the worker drained, and the event waits in
    its lane for another turn. Without limits every event waits here. A wait for a limit of the account counts
    as a hold.

    Attributes:
        count: moderation calls that wait for their next attempt.
        most: held events of this process.
        most_of_account: held events of one account.
        left: called when an event leaves its place.
        returned: called when it takes its place again.
    """

    count: int = 0
    most: float = float("inf")
    most_of_account: float = float("inf")
    left: Callable[[], None] = _nothing
    returned: Callable[[], None] = _nothing
    _calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    _events: Counter[str] = field(default_factory=Counter)
    _closed_until_s: dict[str, float] = field(default_factory=dict)
    _slots: dict[tuple[str, str], EventSlot] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """Events without a place in flight."""
        return self._events.total()

    @contextmanager
    def waiting(self, event: Event, *, now_s: float, leaves: bool) -> Iterator[None]:
        """Count one more call while inside; ``leaves`` for a hold, which may be long.

        Raises:
            asyncio.CancelledError: there is no room for a further held event.
        """
        with self.away(event, now_s=now_s) if leaves else nullcontext():
            self.count += 1
            try:
                yield
            finally:
                self.count -= 1

    @contextmanager
    def away(self, event: Event, *, now_s: float) -> Iterator[None]:
        """The event leaves its place while inside.

        Raises:
            asyncio.CancelledError: there is no room for a further held event.
        """
        self._leave(event, now_s)
        try:
            yield
        finally:
            self._return(event)

    def has_room(self, event: Event) -> bool:
        """Whether the event may leave its place now."""
        is_away = (event.user_id, event.entry_id) in self._calls
        return is_away or (self.events < self.most and self._events[event.user_id] < self.most_of_account)

    @contextmanager
    def with_slot(self, event: Event, slot: EventSlot) -> Iterator[None]:
        """The event has this slot while inside."""
        key = (event.user_id, event.entry_id)
        self._slots[key] = slot
        try:
            yield
        finally:
            del self._slots[key]

    @asynccontextmanager
    async def slot_released(self, event: Event) -> AsyncIterator[None]:
        """The event's slot, if it has one, is free for others while inside."""
        slot = self._slots.get((event.user_id, event.entry_id))
        async with nullcontext() if slot is None else slot.released():
            yield

    def open_lanes(self, now_s: float) -> dict[str, int]:
        """Accounts with held events -> lanes that they may run meanwhile; the others are not limited."""
        self._closed_until_s = {key: end for key, end in self._closed_until_s.items() if end > now_s}
        held = {user_id: int(self.most_of_account) for user_id in self._events} if self._is_limited else {}
        return held | dict.fromkeys(self._closed_until_s.keys() - held.keys(), 0)

    @property
    def _is_limited(self) -> bool:
        return self.most_of_account != float("inf")

    def _leave(self, event: Event, now_s: float) -> None:
        key = (event.user_id, event.entry_id)
        if not self._calls[key]:
            if not self.has_room(event):
                if event.user_id not in self._events:
                    self._closed_until_s[event.user_id] = now_s + CLOSED_S
                raise asyncio.CancelledError("no room for a further held event")
            self._events[event.user_id] += 1
            self.left()
        self._calls[key] += 1

    def _return(self, event: Event) -> None:
        key = (event.user_id, event.entry_id)
        self._calls[key] -= 1
        if not self._calls[key]:
            self._events[event.user_id] -= 1
            self._forget(key)
            self.returned()

    def _forget(self, key: tuple[str, str]) -> None:
        del self._calls[key]
        if not self._events[key[0]]:
            del self._events[key[0]]
