"""What is the same and what is not between a decision and the one made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from worker.model import Decision, DecisionKind
from worker.snapshot import snapshot_json

UNMEASURED: Final = frozenset({"duration_ms", "costs", "tokens_by_model", "checked"})
"""Parts of a snapshot that a replay does not repeat: times, prices of that day, the verdict of a check."""


class DifferenceKind(StrEnum):
    """How two decisions of one event differ; stored, never renamed."""

    UNCHANGED = "unchanged"
    NEWLY_STOPPED = "newly_stopped"
    NEWLY_RELEASED = "newly_released"
    OTHER_REPLY = "other_reply"
    OTHER_ENDING = "other_ending"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """What a decision came to.

    Attributes:
        reply: text that was approved, or None.
        snapshot: all it rests on, as stored, without times and prices; empty where it is not compared.
    """

    kind: str
    reason_code: str
    reason: str
    confidence: float
    matched_rule: str | None
    reply: str | None
    snapshot: Mapping[str, Any]

    @property
    def answers(self) -> bool:
        """Whether a reply goes out."""
        return self.reply is not None and self.kind == DecisionKind.RESPOND

    @property
    def line(self) -> str:
        """Reason code and sentence."""
        rule = f" ({self.matched_rule})" if self.matched_rule else ""
        return f"{self.reason_code}{rule}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two outcomes of one event; ``why`` is one line."""

    kind: DifferenceKind
    before: ReplayOutcome
    after: ReplayOutcome
    why: str

    @property
    def unequal(self) -> tuple[str, ...]:
        """Names of what differs; empty when the decisions are the same, bit for bit."""
        return unequal_fields(self.before, self.after)


def outcome_of(decision: Decision) -> ReplayOutcome:
    """The outcome of a decision that was just made."""
    return ReplayOutcome(
        kind=decision.kind.value,
        reason_code=str(decision.reason_code),
        reason=decision.reason,
        confidence=decision.confidence,
        matched_rule=decision.matched_rule,
        reply=decision.reply,
        snapshot=comparable(snapshot_json(decision)),
    )


def comparable(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot without what a replay does not repeat, in JSON's own types."""
    found: dict[str, Any] = _plain(snapshot)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if key not in UNMEASURED}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, str) else value


def unequal_fields(before: ReplayOutcome, after: ReplayOutcome) -> tuple[str, ...]:
    """Names of what differs; empty when the decisions are the same, bit for bit."""
    names = [each.name for each in fields(ReplayOutcome) if each.name != "snapshot"]
    found = [name for name in names if getattr(before, name) != getattr(after, name)]
    parts = sorted(before.snapshot.keys() | after.snapshot.keys())
    return (
        *found,
        *(f"snapshot.{name}" for name in parts if before.snapshot.get(name) != after.snapshot.get(name)),
    )


def difference(before: ReplayOutcome, after: ReplayOutcome) -> Difference:
    """What changes for the author first, then for the audit."""
    if before.answers and not after.answers:
        kind = DifferenceKind.NEWLY_STOPPED
    elif after.answers and not before.answers:
        kind = DifferenceKind.NEWLY_RELEASED
    elif before.reply != after.reply:
        kind = DifferenceKind.OTHER_REPLY
    elif _ending(before) != _ending(after):
        kind = DifferenceKind.OTHER_ENDING
    else:
        kind = DifferenceKind.UNCHANGED
    return Difference(kind=kind, before=before, after=after, why=_why(kind, before, after))


def _ending(outcome: ReplayOutcome) -> tuple[str, str, str | None]:
    return outcome.kind, outcome.reason_code, outcome.matched_rule


def _why(kind: DifferenceKind, before: ReplayOutcome, after: ReplayOutcome) -> str:
    if kind is DifferenceKind.UNCHANGED:
        changed = before.confidence != after.confidence
        return f"confidence {before.confidence:.2f}, now {after.confidence:.2f}" if changed else ""
    if _ending(before) != _ending(after):
        return after.line
    return "the reply has another text"
