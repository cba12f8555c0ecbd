"""The stage trace of one event: what ran, how it ended, how long it took, what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from worker.model import (
    Account,
    Assessment,
    Attempt,
    Completion,
    Decision,
    Event,
    Finding,
    Json,
    Passage,
    StageOutcome,
    StageRecord,
    Tokens,
)
from worker.policy import Ending
from worker.ports import Clock

MOST_ATTEMPTS: Final = 50
"""Kept of one stage: more than any model call may have, fewer than an hour's hold has."""


@dataclass(slots=True)
class StageNote:
    """What a running stage wants to say about itself."""

    outcome: StageOutcome = StageOutcome.PASSED
    detail: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """Collects while one event travels; local to one call of the pipeline.

    Attributes:
        tool_failure: kind of the error that left a search without passages, or empty.
    """

    event: Event
    account: Account
    clock: Clock
    stages: list[StageRecord] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    passages: tuple[Passage, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    models: dict[str, str] = field(default_factory=dict)
    prompt_hash: str | None = None
    draft_text: str | None = None
    degraded: bool = False
    message_passed: bool = False
    tool_failure: str = ""
    assessment: Assessment | None = None
    rechecked: tuple[float, float | None] | None = None
    confidence_log: list[dict[str, Json]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[StageNote]:
        """Time one stage; an exception marks it failed and rises."""
        note = StageNote()
        started = self.clock.monotonic()
        try:
            yield note
        except BaseException:
            note.outcome = StageOutcome.FAILED
            raise
        finally:
            duration_ms = round((self.clock.monotonic() - started) * 1000, 3)
            self.stages.append(
                StageRecord(stage=name, outcome=note.outcome, duration_ms=duration_ms, detail=note.detail)
            )

    def attempt(self, stage: str, number: int, outcome: str, **rest: float | str) -> None:
        """Note one try of a call; a long hold keeps its first tries and its last, whose number counts all."""
        noted = Attempt(
            number=number,
            stage=stage,
            outcome=outcome,
            duration_ms=round(float(rest.get("duration_ms", 0.0)), 3),
            waited_s=float(rest.get("waited_s", 0.0)),
            detail=str(rest.get("detail", ""))[:300],
        )
        same = [place for place, each in enumerate(self.attempts) if each.stage == stage]
        if len(same) < MOST_ATTEMPTS:
            self.attempts.append(noted)
        else:
            self.attempts[same[-1]] = noted

    def found(self, *findings: Finding) -> None:
        """Keep findings for the audit."""
        self.findings.extend(findings)

    def completed(self, purpose: str, completion: Completion) -> None:
        """Add what a completion cost."""
        self.tokens += completion.tokens
        self.models[purpose] = completion.model

    def decision(self, ending: Ending) -> Decision:
        """The immutable outcome with everything noted so far."""
        now = self.clock.now()
        return Decision(
            decision_id=self.clock.new_id(now),
            decided_at=now,
            event=self.event,
            verdict=ending.verdict,
            reason_code=ending.reason_code,
            reason=ending.reason,
            confidence=ending.confidence,
            rules_version=self.account.version,
            matched_rule=ending.matched_rule,
            reply=ending.reply,
            degraded=ending.degraded or self.degraded,
            remember=self.message_passed and not ending.quarantine,
            quarantine=ending.quarantine,
            rejected_draft=self.draft_text if ending.quarantine else None,
            findings=tuple(self.findings),
            stages=tuple(self.stages),
            attempts=tuple(self.attempts),
            passages=self.passages,
            assessment=self.assessment,
            rechecked=self.rechecked,
            confidence_log=tuple(self.confidence_log),
            tokens=self.tokens,
            models=dict(self.models),
            prompt_hash=self.prompt_hash,
        )
