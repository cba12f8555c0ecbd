"""The part of a decision that is stored as JSON: everything a reviewer needs to see how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from worker.model import NANO, CostLine, Decision, Finding, Json, Quote, ScreenedPassage, Tokens
from worker.reasons import Reason
from worker.stored_json import STORED_AS, object_writer, read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryScore:
    """A moderation score with the account's threshold; None when the API's own flag decides."""

    score: float
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeratorRecord:
    """One moderator that the account chose.

    Attributes:
        outcome: ``clear``, ``hit``, ``no_result``, or ``not_needed`` when the others had decided before.
        error: kind of its last failure where it gave no result, else empty.
    """

    name: str = ""
    outcome: str = ""
    duration_ms: float = 0.0
    model: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStage:
    """One line of the stage trace; stored codes are plain texts, as another release may know more of them."""

    stage: str = ""
    outcome: str = ""
    duration_ms: float = 0.0
    detail: Mapping[str, Json] = field(default_factory=dict)

    @property
    def highest(self) -> Mapping[str, CategoryScore]:
        """The moderation scores that the stage stored, by category."""
        scores = self.detail.get("highest")
        found = scores.items() if isinstance(scores, dict) else ()
        return {category: read_object(CategoryScore, score, category, []) for category, score in found}

    @property
    def moderators(self) -> tuple[ModeratorRecord, ...]:
        """The moderators that the account chose, in its order; empty with the moderation API alone."""
        stored = self.detail.get("moderators")
        found = stored if isinstance(stored, list) else []
        return tuple(read_object(ModeratorRecord, each, "moderators", []) for each in found)

    @property
    def decided_by(self) -> str:
        """Name of the moderator whose result blocked the text, or empty."""
        return str(self.detail.get("decided_by") or "")

    @property
    def unmoderated(self) -> bool:
        """Whether the stage had to do without a moderation result."""
        return self.detail.get("moderated") is False

    @property
    def search_error(self) -> str:
        """Kind of the failure that left a search without passages, or empty."""
        return str(self.detail.get("error") or "")

    @property
    def search_degraded(self) -> str:
        """Kind of the embedder's failure that reduced a search to words, or empty."""
        return str(self.detail.get("degraded") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFinding:
    """A finding; ``span`` is start and end in code points of the original text."""

    stage: str = ""
    code: str = ""
    severity: str = ""
    matched_rule: str = ""
    evidence: str = ""
    how: str = ""
    score: float | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPassage:
    """A passage without its text."""

    passage_id: str = field(default="", metadata={STORED_AS: "id"})
    title: str = ""
    similarity: float = 0.0
    found_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotCost:
    """What one model cost for one purpose; ``usd`` is None when its price was not known."""

    purpose: str = ""
    model: str = ""
    prompt: int = 0
    completion: int = 0
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotAttempt:
    """One try of a call, as ``worker.model.Attempt``."""

    number: int = 0
    stage: str = ""
    outcome: str = ""
    duration_ms: float = 0.0
    waited_s: float = 0.0
    detail: str = ""
    moderator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSentence:
    """What a judge read in one sentence, as ``worker.model.ReadSentence``."""

    start: int = 0
    end: int = 0
    verdict: str = ""
    support: float | None = None
    quotes: tuple[Quote, ...] = ()
    unknown_quotes: int = 0
    disagreements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotCheck:
    """The verdict of a check, as ``worker.model.CheckVerdict``; ``would`` differs from what was answered."""

    verdict: str = ""
    would: str | None = None
    failed_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotAssessment:
    """How far the draft can be trusted, as ``worker.model.Assessment``."""

    policy: str = ""
    confidence: float = 0.0
    tier: str = ""
    action: str = ""
    category: str = ""
    passed_checks: tuple[str, ...] = ()
    failed_checks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    diagnostics: Mapping[str, Json] = field(default_factory=dict)
    fallback_text: str | None = None
    support: float | None = None
    relevance: float | None = None
    measured: bool = True
    intended_action: str | None = None
    learning_suggestions: tuple[str, ...] = ()
    sentences: tuple[SnapshotSentence, ...] = ()
    left_out: str = ""

    def diagnostic(self, name: str, default: float) -> float:
        """A number of the policy's own record."""
        value = self.diagnostics.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    @property
    def failed_comparisons(self) -> tuple[str, ...]:
        """Each failed check with its threshold, where the policy's record holds one entry per check."""
        checks = self.diagnostics.get("diagnostic_info")
        found = (
            [each for each in checks.values() if isinstance(each, dict)] if isinstance(checks, dict) else []
        )
        return tuple(str(each.get("details", "")) for each in found if not each.get("passed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """``ai_decisions.snapshot_json``, written and read by the types of its fields.

    Attributes:
        received_at: None only where the stored value is missing or unreadable; ``created_at`` likewise.
        other_attachments: attachments that are no usable URL of an image, or beyond the 16th.
        type: of the event.
        notes: what of the payload was left out or changed when it was read.
        rechecked: confidence before and after a recheck, None after it when there was no second draft.
        masked: number of different values by kind that vendors got placeholders for.
        screened: passages that were found and not shown to the model.
        unreadable: paths of stored values of a wrong type, such as ``stages[2].duration_ms``; not stored.
    """

    entry_id: str = ""
    received_at: datetime | None = None
    created_at: datetime | None = None
    language: str | None = None
    attachments: tuple[str, ...] = ()
    other_attachments: int = 0
    metadata: Mapping[str, Json] = field(default_factory=dict)
    type: str = "message"
    parent_id: str | None = None
    notes: tuple[str, ...] = ()
    answered_event: str | None = None
    rules_version: int = 0
    error_class: str | None = None
    stages: tuple[SnapshotStage, ...] = ()
    findings: tuple[SnapshotFinding, ...] = ()
    attempts: tuple[SnapshotAttempt, ...] = ()
    passages: tuple[SnapshotPassage, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    models: Mapping[str, str] = field(default_factory=dict)
    tokens_by_model: Mapping[str, Tokens] = field(default_factory=dict)
    costs: tuple[SnapshotCost, ...] = ()
    prompt_hash: str | None = None
    assessment: SnapshotAssessment | None = None
    rechecked: tuple[float, float | None] | None = None
    confidence_log: tuple[Mapping[str, Json], ...] = field(default=(), metadata={STORED_AS: "confidenceLog"})
    quarantined: bool = False
    masked: Mapping[str, int] = field(default_factory=dict)
    screened: tuple[ScreenedPassage, ...] = ()
    checked: SnapshotCheck | None = None
    unreadable: tuple[str, ...] = field(default=(), metadata={STORED_AS: None})

    @property
    def usd(self) -> float:
        """The cost as far as prices are known, US dollars."""
        return sum(each.usd or 0.0 for each in self.costs)

    @property
    def unpriced(self) -> tuple[SnapshotCost, ...]:
        """Uses of models without a known price: their cost is not in ``usd``."""
        return tuple(each for each in self.costs if each.usd is None)

    @classmethod
    def from_json(cls, stored: object) -> Snapshot:
        """The snapshot of a stored row, whichever release wrote it; never raises."""
        unreadable: list[str] = []
        found = read_object(cls, stored, "", unreadable)
        return replace(found, unreadable=tuple(unreadable))


def snapshot_json(decision: Decision) -> dict[str, Any]:
    """The snapshot of a decision that was just made, as plain JSON values."""
    event = decision.event
    values = SimpleNamespace(
        entry_id=event.entry_id,
        received_at=event.received_at,
        created_at=event.created_at,
        language=event.language,
        attachments=event.attachments,
        other_attachments=event.other_attachments,
        metadata=event.metadata,
        type=event.type,
        parent_id=event.parent_id,
        notes=event.notes,
        answered_event=decision.answered_event,
        rules_version=decision.rules_version,
        error_class=Reason(decision.reason_code).spec.error_class,
        stages=decision.stages,
        findings=[_finding(each) for each in decision.findings],
        attempts=decision.attempts,
        passages=decision.passages,
        tokens=decision.tokens,
        models=decision.models,
        tokens_by_model=decision.tokens_by_model,
        costs=[_cost(each) for each in decision.costs],
        prompt_hash=decision.prompt_hash,
        assessment=decision.assessment,
        rechecked=decision.rechecked,
        confidence_log=decision.confidence_log,
        quarantined=decision.quarantine,
        masked=decision.masked,
        screened=decision.screened,
        checked=decision.check,
    )
    written: dict[str, Any] = object_writer(Snapshot)(values)
    return written


def _cost(each: CostLine) -> SnapshotCost:
    return SnapshotCost(
        purpose=each.purpose,
        model=each.model,
        prompt=each.tokens.prompt,
        completion=each.tokens.completion,
        usd=None if each.nano_usd is None else each.nano_usd / NANO,
    )


def _finding(each: Finding) -> SnapshotFinding:
    return SnapshotFinding(
        stage=each.stage,
        code=each.code,
        severity=each.severity,
        matched_rule=each.matched_rule,
        evidence=each.evidence,
        how=each.how,
        score=each.score,
        span=(each.span.start, each.span.end) if each.span else None,
    )
