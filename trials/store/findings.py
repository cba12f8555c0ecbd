"""A decision that a trial would have ended otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from worker.model import DecisionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFinding:
    """A decision that changed settings would have ended otherwise, or that needs new answers.

    Attributes:
        kind: as ``trials.pure.replay.difference.DifferenceKind``, or needs_answers.
        before, before_code: decision and reason code as stored; all that follows is the candidate's, and
            empty where it needs new answers.
        reply: None also where the reply is the same.
        usd: what the stored decision cost, US dollars.
    """

    decision_id: UUID
    kind: str
    before_code: str
    decision: str
    reason_code: str
    reason: str
    matched_rule: str | None
    reply: str | None
    before: str = ""
    usd: float = 0.0

    @property
    def waits(self) -> int:
        """How many more messages wait for people: 1, 0 or -1."""
        if not self.decision:
            return 0
        return (self.decision == DecisionKind.ESCALATE) - (self.before == DecisionKind.ESCALATE)
