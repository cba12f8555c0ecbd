"""Everything the ports answered for one decision: enough to make it again without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from worker import __version__
from worker.model import BudgetReached, ConversationState, Event, Json
from worker.ports import ModelLimits, RetryPolicy

FORM: Final = 1
"""Number of the stored form; a later form is not read."""


class Port(StrEnum):
    """A port in a recording; models and classifiers of the deployment follow it as ``model:NAME``."""

    MODERATOR = "moderator"
    CLASSIFIER = "classifier"
    MODEL = "model"
    JUDGE = "judge"
    SEARCH = "search"
    HISTORY = "history"
    ARRIVALS = "arrivals"
    SLEEP = "sleep"

    def named(self, name: str) -> str:
        """The port of one of several models or classifiers."""
        return f"{self}:{name}"


class RecordedOutcome(StrEnum):
    """How a call ended; ``ENDED``: the engine cancelled it, because its answer was not needed any more."""

    VALUE = "v"
    ERROR = "e"
    ENDED = "c"


class RecordingUnreadable(Exception):
    """A stored recording cannot be read; the message says why."""


class AnswerMissing(Exception):
    """A replay asks what the recording does not hold, and nothing else may be asked.

    Attributes:
        port: whom it asked, such as ``model`` or ``classifier:guard``.
    """

    def __init__(self, port: str) -> None:
        self.port = port
        super().__init__(f"the recording has no answer of {port} to this request")


@dataclass(slots=True, kw_only=True)
class RecordedAnswer:
    """One call of a port, in the order of their ends.

    Attributes:
        request: hash of the request; equal requests have equal hashes.
        number: place of the call in the order of their beginnings, from 0.
        begun: calls that had begun when this one ended.
        walls: readings of the wall clock before its end.
        monotonics: readings of the monotonic clock before its end.
        at_once: the call ended without waiting, such as behind an open breaker.
        value: what the port returned or raised, of a recorded error its stored form; None of a call that was
            cancelled.
    """

    port: str
    request: str
    number: int
    begun: int
    walls: int
    monotonics: int
    outcome: RecordedOutcome
    at_once: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What the engine saw of the deployment.

    Attributes:
        moderator: whether the moderation API was switched on; ``judge`` and ``arrivals`` likewise.
        policy_defaults: of the account's assessment policy, by policy and field.
    """

    moderator: bool = True
    judge: bool = False
    arrivals: bool = False
    classifiers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    limits: ModelLimits = field(default_factory=ModelLimits)
    policy_defaults: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One decision's inputs and answers.

    Attributes:
        rules_version: version of the account's settings that decided.
        started_at: first reading of the wall clock.
        walls: later readings of the wall clock, microseconds after ``started_at``, in order.
        monotonics: readings of the monotonic clock, microseconds after the first, in order.
        release: the release that made the decision.
        shed: reason code and sentence when the message was left out because of the load, else empty.
    """

    event: Event
    conversation: ConversationState
    budget: BudgetReached | None
    rules_version: int
    deployment: Deployment
    started_at: datetime
    walls: tuple[int, ...]
    monotonics: tuple[int, ...]
    answers: tuple[RecordedAnswer, ...]
    release: str = __version__
    shed: tuple[str, ...] = ()
    form: int = FORM
