"""The stages of the pipeline and what the trace records of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from worker.model.event import Json
from worker.model.generation import Tokens


class Stage(StrEnum):
    """A step of the pipeline that the trace records, in the order of travel."""

    SCOPE = "scope"
    RULES = "rules"
    MODERATION = "moderation"
    HISTORY = "history"
    RETRIEVAL = "retrieval"
    EVIDENCE = "evidence"
    GENERATION = "generation"
    RULES_REPLY = "rules_reply"
    MODERATION_REPLY = "moderation_reply"
    ASSESSMENT = "assessment"
    JUDGE = "judge"


STAGES: Final = tuple(stage for stage in Stage if stage is not Stage.JUDGE)
"""The stages that have a record; the judge is called within the assessment and has attempts only."""


class StageOutcome(StrEnum):
    """How a stage ended."""

    PASSED = "passed"
    FLAGGED = "flagged"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One stage of the trace: outcome, duration and details.

    Attributes:
        started_s: by the monotonic clock; for traces, not stored.
    """

    stage: Stage
    outcome: StageOutcome
    duration_ms: float
    detail: Mapping[str, Json] = field(default_factory=dict)
    started_s: float = field(default=0.0, compare=False)


class AttemptOutcome(StrEnum):
    """How one try of a call to a model ended; all but ``COMPLETED`` are failures."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    EMPTY = "empty"
    UNFINISHED = "unfinished"
    REJECTED = "rejected"
    MISCONFIGURED = "misconfigured"
    UNREADABLE = "unreadable"
    UNAVAILABLE = "unavailable"
    CIRCUIT_OPEN = "circuit_open"
    BUSY = "busy"
    LIMITED = "limited"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a call to a model, numbered from 1 within its stage.

    Attributes:
        moderator: name of the moderator where the account chose several, numbered for each; else empty.
    """

    number: int
    stage: Stage
    outcome: AttemptOutcome
    duration_ms: float
    waited_s: float = 0.0
    detail: str = ""
    moderator: str = ""


class CallPurpose(StrEnum):
    """What a model server was asked for."""

    COMPLETION = "completion"
    JUDGE = "judge"
    MODERATION = "moderation"
    EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a model server, for traces; not stored.

    Attributes:
        started_s: by the monotonic clock.
        error: kind of the failure, empty for an answer.
        model: as the server named it; empty without an answer.
    """

    purpose: CallPurpose
    stage: Stage
    started_s: float
    duration_s: float
    model: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    finish_reason: str = ""
    error: str = ""
