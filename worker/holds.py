"""Events that wait for the next attempt of a moderator: how many, of which accounts, and where."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from worker.model import Event

CLOSED_S: Final = 10.0
"""How long an account without held events gets none after one was put back; the longest pause of a hold."""


def _nothing() -> None:
    return None


@dataclass(slots=True, kw_only=True)
class Holds:
    """The held events of one process. A held event leaves its place in flight to others until its next call.

    Beyond the limits a held event is put back: its run ends as if the worker drained, and the event waits in
    its lane for another turn. Without limits every event waits here.

    Attributes:
        count: calls that wait for their next attempt.
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
        if leaves:
            self._leave(event, now_s)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
            if leaves:
                self._return(event)

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
            if self.events >= self.most or self._events[event.user_id] >= self.most_of_account:
                del self._calls[key]
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
