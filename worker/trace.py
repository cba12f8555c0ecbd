"""The trace of one event: its stages, attempts, findings and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from worker.model import (
    AI_ONLY,
    Account,
    Attempt,
    AttemptOutcome,
    CallPurpose,
    Completion,
    ConversationState,
    Event,
    Finding,
    Json,
    ModelCall,
    ScreenedPassage,
    Stage,
    StageOutcome,
    StageRecord,
    Tokens,
    WriterSign,
)
from worker.ports import Clock

log = structlog.get_logger(__name__)

LOGGED_AT_ONCE: Final = frozenset({Stage.GENERATION, Stage.JUDGE})
"""Stages whose failed calls are logged at once; calls of a hold are logged at its end, at most 50."""

MOST_ATTEMPTS: Final = 50
"""Cap on stored attempts per stage; long holds drop the middle ones."""
NO_TOKENS: Final = Tokens()
NO_DETAIL: Final[Mapping[str, Json]] = {}
"""Of most stages, each of which held 64 bytes for an empty object of its own."""
MOST_CALLS: Final = 100
"""Cap on the calls that a trace shows."""


@dataclass(slots=True)
class StageNote:
    """Outcome and details of a running stage."""

    outcome: StageOutcome = StageOutcome.PASSED
    detail: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class RunningStage:
    """A running stage, as a context manager."""

    trace: EventTrace
    name: Stage
    note: StageNote
    started_s: float

    def __enter__(self) -> StageNote:
        return self.note

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        outcome = self.note.outcome if error_type is None else StageOutcome.FAILED
        duration_ms = round((self.trace.clock.monotonic() - self.started_s) * 1000, 3)
        record = StageRecord(
            stage=self.name,
            outcome=outcome,
            duration_ms=duration_ms,
            detail=self.note.detail or NO_DETAIL,
            started_s=self.started_s,
        )
        self.trace.stages.append(record)


@dataclass(slots=True)
class EventTrace:
    """Collects the record of one event; local to one call of the pipeline.

    Steps append records, and set ``degraded``, ``unchecked_images`` and ``sign``.
    """

    event: Event
    account: Account
    clock: Clock
    conversation: ConversationState = AI_ONLY
    stages: list[StageRecord] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    usage: dict[tuple[str, str], Tokens] = field(default_factory=dict)
    degraded: bool = False
    unchecked_images: int = 0
    sign: WriterSign | None = None
    screened: list[ScreenedPassage] = field(default_factory=list)
    confidence_log: list[dict[str, Json]] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.clock.monotonic()

    @property
    def age_s(self) -> float:
        """Seconds since the trace began."""
        return self.clock.monotonic() - self.began_s

    def stage(self, name: Stage) -> RunningStage:
        """Time one stage; an exception marks it failed and rises."""
        return RunningStage(self, name, StageNote(), self.clock.monotonic())

    def beside(self) -> EventTrace:
        """An empty trace of the same event, for steps that run beside others."""
        return EventTrace(
            event=self.event, account=self.account, clock=self.clock, conversation=self.conversation
        )

    def join(self, other: EventTrace, *, only_costs: bool = False) -> None:
        """Add a trace made beside this one; ``only_costs``: its steps decided nothing, and yet were paid."""
        self.attempts += other.attempts
        self.calls += other.calls[: MOST_CALLS - len(self.calls)]
        self.models |= other.models
        for (purpose, model), tokens in other.usage.items():
            self.spent(purpose, tokens, model=model)
        if only_costs:
            return
        self.stages += other.stages
        self.findings += other.findings
        self.screened += [each for each in other.screened if each not in self.screened]
        self.confidence_log += other.confidence_log
        self.degraded |= other.degraded
        self.unchecked_images = max(self.unchecked_images, other.unchecked_images)
        self.sign = other.sign or self.sign

    def attempt(self, stage: Stage, number: int, outcome: AttemptOutcome, **rest: float | str) -> None:
        """Record one attempt; a long hold keeps its first attempts and its last, whose number counts all."""
        noted = Attempt(
            number=number,
            stage=stage,
            outcome=outcome,
            duration_ms=round(float(rest.get("duration_ms", 0.0)), 3),
            waited_s=float(rest.get("waited_s", 0.0)),
            detail=str(rest.get("detail", ""))[:300],
            moderator=str(rest.get("moderator", "")),
        )
        if stage in LOGGED_AT_ONCE:
            self._log(noted, int(rest.get("total", 0)))
        same = [place for place, each in enumerate(self.attempts) if each.stage == stage]
        if len(same) < MOST_ATTEMPTS:
            self.attempts.append(noted)
        else:
            self.attempts[same[-1]] = noted

    def _log(self, noted: Attempt, total: int) -> None:
        """Log a failed attempt, or the success after one; ``total`` is 0 where nothing is repeated."""
        ids = {
            "user_id": self.event.user_id,
            "event_id": self.event.event_id,
            "entry_id": self.event.entry_id,
        }
        facts: dict[str, int | float | str] = {"stage": noted.stage, "number": noted.number}
        if total:
            facts["total"] = total
        if noted.outcome not in {AttemptOutcome.COMPLETED, AttemptOutcome.CANCELLED}:
            log.warning("attempt_failed", kind=noted.outcome, wait_s=round(noted.waited_s, 3), **facts, **ids)
        elif total and noted.number > 1:
            log.info("attempt_succeeded", **facts, **ids)

    def found(self, *findings: Finding) -> None:
        """Keep findings for the audit."""
        self.findings.extend(findings)

    def called(
        self,
        purpose: CallPurpose,
        stage: Stage,
        started_s: float,
        answer: Completion | None = None,
        *,
        outcome: str = AttemptOutcome.COMPLETED,
        model: str = "",
        tokens: Tokens = NO_TOKENS,
    ) -> None:
        """Record a call of a model server that ends now; at most ``MOST_CALLS``."""
        if len(self.calls) < MOST_CALLS:
            call = ModelCall(
                purpose=purpose,
                stage=stage,
                started_s=started_s,
                duration_s=self.clock.monotonic() - started_s,
                model=answer.model if answer else model,
                tokens=answer.tokens if answer else tokens,
                finish_reason=answer.finish_reason if answer else "",
                error="" if outcome == AttemptOutcome.COMPLETED else str(outcome),
            )
            self.calls.append(call)

    def completed(self, purpose: str, completion: Completion) -> None:
        """Add what a completion cost."""
        self.spent(purpose, completion.tokens, model=completion.model)
        self.models[purpose] = completion.model

    def spent(self, purpose: str, tokens: Tokens, *, model: str) -> None:
        """Add tokens of a call."""
        self.usage[purpose, model] = self.usage.get((purpose, model), NO_TOKENS) + tokens
