"""The outcome of one event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from worker.model.assessment import Assessment
from worker.model.check import CheckVerdict
from worker.model.costs import CostLine, Usage
from worker.model.escalation import Escalation
from worker.model.event import Event, Json, WriterSign
from worker.model.findings import Finding
from worker.model.generation import Tokens
from worker.model.held import HeldDraft
from worker.model.passages import Passage, ScreenedPassage, Source
from worker.model.stages import Attempt, ModelCall, StageRecord
from worker.model.trace_context import TraceContext


class DecisionKind(StrEnum):
    """What Hushgate does with an event; stored in ``ai_decisions.decision``."""

    IGNORE = "ignore"
    RESPOND = "respond"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one event and all it rests on; immutable.

    Attributes:
        decision_id: UUIDv7; its time is ``decided_at``.
        confidence: 0..1, how sure the deciding stage was; see ``docs/architecture.md``.
        reason_code: a member of ``worker.reasons.Reason``; stored, never renamed.
        reason: one sentence for a reviewer.
        reply: text that goes to the outbox, without citation marks, or None for silence.
        draft: the draft as it was assessed, with its citation marks, or None when no draft is sent.
        sources: the passages that the draft cites.
        disclosure: the account's text on AI, to be sent before the first reply of a conversation, or None.
        send_before: a reply that is not delivered by this time is held back.
        degraded: True when moderation, the search or the model failed or was incomplete.
        remember: True when message and reply enter the stored history.
        quarantine: True when the exchange leaves the stored history.
        rechecked: confidence before and after a recheck, None after it when there was no second draft.
        confidence_log: one entry per draft that the policy of Guardrail assessed, as its document defines it.
        rejected_draft: the draft a post-check flagged; sealed in quarantine, else None.
        masked: how many values of each kind vendors got placeholders for; never the values.
        screened: passages that were found and not shown to the model.
        sign: what the message said about its writer; None where that was not looked at.
        answered_event: event id of the author's next message, which is answered together with this one.
        changes: ``ConversationState.changes`` that the decision rests on; a reply is stored and delivered
            only while the AI owns the conversation and this number stands.
        people_until: when the conversation returns to the AI, if this decision hands it to people.
        held: texts that were not sent; sealed until ``held_until``.
        sealed_until: when a flagged exchange is deleted from the quarantine; None: after 30 days.
        escalation: its handoff, when people must answer; of a message while people own the conversation it is
            stored only where nothing else waits for them.
        retract_reply: a deletion's: whether the delivered reply to the message is retracted.
        rated: of feedback, the event whose reply is rated, or None.
        rated_first: of a message, whether feedback about the reply came before the message.
        calls: calls of model servers, in the order of their ends; for traces, not stored.
        trace: the publisher's position in a trace, ours where traces are sent; passed on with the reply.
        began_s: the begin of the pipeline by the monotonic clock; for traces, not stored.
        ended_s: ``decided_at`` by the monotonic clock.
        overtaken: the reply was discarded, because people took the conversation before the commit.
        candidate_id: the candidate whose settings decided, in a rollout; None: the settings in force.
        check: of a check, the verdict that its program got; else None.
        recording: what the ports answered, as ``worker.recordings`` stores it; None: not recorded.
    """

    decision_id: UUID
    decided_at: datetime
    event: Event
    kind: DecisionKind
    reason_code: str
    reason: str
    confidence: float
    rules_version: int
    matched_rule: str | None = None
    reply: str | None = None
    draft: str | None = None
    sources: tuple[Source, ...] = ()
    disclosure: str | None = None
    send_before: datetime | None = None
    degraded: bool = False
    remember: bool = False
    quarantine: bool = False
    rejected_draft: str | None = None
    findings: tuple[Finding, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    passages: tuple[Passage, ...] = ()
    assessment: Assessment | None = None
    rechecked: tuple[float, float | None] | None = None
    confidence_log: tuple[Mapping[str, Json], ...] = ()
    tokens: Tokens = field(default_factory=Tokens)
    models: Mapping[str, str] = field(default_factory=dict)
    tokens_by_model: Mapping[str, Tokens] = field(default_factory=dict)
    usage: tuple[Usage, ...] = ()
    costs: tuple[CostLine, ...] = ()
    prompt_hash: str | None = None
    masked: Mapping[str, int] = field(default_factory=dict)
    screened: tuple[ScreenedPassage, ...] = ()
    sign: WriterSign | None = None
    answered_event: str | None = None
    changes: int = 0
    people_until: datetime | None = None
    escalation: Escalation | None = None
    retract_reply: bool = False
    held: tuple[HeldDraft, ...] = ()
    held_until: datetime | None = None
    sealed_until: datetime | None = None
    rated: str | None = None
    rated_first: bool = False
    calls: tuple[ModelCall, ...] = ()
    trace: TraceContext | None = None
    began_s: float = 0.0
    ended_s: float = 0.0
    overtaken: bool = False
    candidate_id: UUID | None = None
    check: CheckVerdict | None = None
    recording: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def rejection_reason(self) -> str | None:
        """Why the policy rejected the draft; None for a draft that passed or was not assessed."""
        return self.assessment.rejection_reason if self.assessment else None
