"""What the first steps need from outside these pages: the models of the workers and the stream of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from worker.settings import StoredServer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The result of one real call.

    Attributes:
        call: its name, such as ``live model call``.
        offered: False where the server does not have this model, which no setting names.
        found: model, endpoint, and latency or error; keys are masked.
        fix: what to do; empty when it answered.
    """

    call: str
    answered: bool
    offered: bool = True
    found: str
    fix: str


TestServers: TypeAlias = Callable[[Sequence[StoredServer]], Sequence[ModelAnswer]]
"""Makes one real, paid call of each kind with these servers; blocks until all have answered or failed."""


class EventPlace(StrEnum):
    """Where a published event is before it is decided."""

    UNREAD = "unread"
    WAITING = "waiting"
    RUNNING = "running"
    STALLED = "stalled"
    LEFT = "left"
    """No longer in the stream: decided, or a dead letter."""
    UNKNOWN = "unknown"
    """Redis does not answer."""


class EventStream(Protocol):
    """Publishes events and finds them again; both block."""

    def publish(self, event: Mapping[str, object]) -> str:
        """Append one event; the id of its entry.

        Raises:
            Refused: the event was not published; says why.
        """

    def place(self, entry_id: str, user_id: str, conversation_id: str) -> EventPlace:
        """Where the entry is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRunServices:
    """The services; None: this server has no settings for it."""

    test_servers: TestServers | None = None
    events: EventStream | None = None
