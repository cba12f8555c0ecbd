"""The parts of the decision page that load on their own: what each reads, and where it stands in the page."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from db.answers.state import UNANSWERED
from db.audit import decision_context
from db.audit.conversation_confidence import of_newest_replies
from db.audit.decision_context import DecisionRow
from db.connection import Connection, round_of_reads
from db.customer_feedback.reading import list_feedback
from db.escalations.listing import load_escalation
from db.late_moderation.settling import late_record
from db.reviews import queues
from db.reviews.queues import QueueKind
from db.reviews.rulings import NOTE_CHARS, RULINGS
from db.reviews.visible_decision import VisibleDecision
from db.webhooks.deliveries import deliveries_of_reply
from review.access import Right
from review.content_covers import cover_reason
from review.decision.collaboration_panel import load_collaboration
from review.decision.list_position import list_filters, load_position
from review.decision.review_panel import corrections
from review.http.visit import Visit
from review.panels import Panel, load_panels
from worker.model import DecisionKind

PanelValues: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSubject:
    """The decision that panels belong to, for one person.

    Attributes:
        cover: why the texts are covered; empty when they are shown.
        revealed: the person requested the covered texts.
    """

    visit: Visit
    decision: VisibleDecision
    cover: tuple[str, ...]
    revealed: bool = False

    @property
    def may_review(self) -> bool:
        """Whether the person may read texts that were not sent."""
        return self.visit.may(Right.REVIEW, self.row["user_id"])

    @property
    def row(self) -> DecisionRow:
        """The decision."""
        return self.decision.row

    @property
    def shown(self) -> bool:
        """Whether texts are shown that other people's work may have changed."""
        return not self.cover and not self.decision.blind


@dataclass(frozen=True, slots=True)
class DecisionPanel:
    """One panel.

    Attributes:
        slots: its places in the page: ``slot-NAME`` holds ``decision/_NAME.html``.
        load: the values of its templates.
        wanted: whether it shows anything of the decision.
    """

    slots: tuple[str, ...]
    load: Callable[[Connection, PanelSubject], Coroutine[Any, Any, PanelValues]]
    wanted: Callable[[PanelSubject], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLine:
    """One line of the conversation: a neighbouring decision with its own cover.

    Attributes:
        not_in_history: the stored history holds none of it; False while that is hidden.
    """

    row: DecisionRow
    cover: tuple[str, ...]
    not_in_history: bool


async def _collaboration(connection: Connection, subject: PanelSubject) -> PanelValues:
    """Who else reads the decision, who has it, and the comments."""
    row, hidden = subject.row, subject.decision.blind
    found = await load_collaboration(subject.visit, connection, row["id"], row["user_id"], hidden=hidden)
    return {"collaboration": found}


async def _neighbours(connection: Connection, subject: PanelSubject) -> PanelValues:
    """The decisions around this one in the conversation, and the confidence of the newest replies."""
    row = subject.row
    found = await decision_context.load_conversation(connection, row)
    return {
        "conversation": found,
        "before": tuple(_line(subject, each) for each in found.before),
        "after": tuple(_line(subject, each) for each in found.after),
        "conversation_trust": await of_newest_replies(connection, row["user_id"], row["conversation_id"]),
    }


def _line(subject: PanelSubject, row: DecisionRow) -> ConversationLine:
    hidden = row["id"] in subject.decision.hidden_decisions
    return ConversationLine(
        row={**row, **UNANSWERED} if hidden else row,
        cover=() if subject.revealed else cover_reason(subject.visit.person.covered, row),
        not_in_history=not hidden and not row["in_history"],
    )


async def _position(connection: Connection, subject: PanelSubject) -> PanelValues:
    """The decisions next to this one in the list that the person came from."""
    async with connection.transaction():  # searches need savepoints
        return {"position": await load_position(subject.visit, connection, subject.decision)}


async def _delivery(connection: Connection, subject: PanelSubject) -> PanelValues:
    """What became of the reply and of the handoff."""
    row = subject.row
    escalated = row["decision"] == DecisionKind.ESCALATE
    return {
        "webhooks": await deliveries_of_reply(connection, row["user_id"], row["event_id"]),
        "retractions": await decision_context.list_retractions(connection, row["id"]),
        "handoff": await load_escalation(connection, row["id"]) if escalated else None,
    }


async def _feedback(connection: Connection, subject: PanelSubject) -> PanelValues:
    """What came after the decision: late moderation, and feedback, each remark under its own cover."""
    chosen = () if subject.revealed else subject.visit.person.covered
    found = await list_feedback(connection, subject.row["id"])
    late = await late_record(connection, subject.row["id"]) if subject.row["degraded"] else None
    return {"late": late, "feedback": tuple((each, cover_reason(chosen, each.row)) for each in found)}


async def _features(connection: Connection, subject: PanelSubject) -> PanelValues:
    """What optional features show of the decision."""
    return {"features": await load_panels("decision", connection, subject)}


async def _leads(connection: Connection, subject: PanelSubject) -> PanelValues:
    """Where a lead may put the decision."""
    account = subject.row["user_id"]
    opened = await queues.list_open_queues(connection)
    return {
        "known": subject.decision.known,
        "rulings": RULINGS,
        "corrections": corrections(subject.decision.subject),
        "note_chars": NOTE_CHARS,
        "hand_queues": tuple(
            each for each in opened if each.kind is QueueKind.HAND and each.is_for((account,))
        ),
        "further": (await load_panels("decision_review", connection, subject)).html,
    }


PANELS: Final[Mapping[str, DecisionPanel]] = {
    "collaboration": DecisionPanel(("people", "comments"), _collaboration, lambda _: True),
    "neighbours": DecisionPanel(("before", "after"), _neighbours, lambda subject: not subject.cover),
    "delivery": DecisionPanel(
        ("delivery", "handoff"),
        _delivery,
        lambda subject: (
            subject.shown
            and (
                subject.row["reply_created_at"] is not None
                or subject.row["decision"] == DecisionKind.ESCALATE
            )
        ),
    ),
    "feedback": DecisionPanel(("feedback",), _feedback, lambda subject: subject.shown),
    "features": DecisionPanel(("features",), _features, lambda subject: subject.shown),
    "leads": DecisionPanel(
        ("leads",),
        _leads,
        lambda subject: not subject.decision.blind and subject.visit.may(Right.LEAD, subject.row["user_id"]),
    ),
    "position": DecisionPanel(
        ("position",), _position, lambda subject: list_filters(subject.visit) is not None
    ),
}
"""By name, as the address has it."""


def wanted_panels(subject: PanelSubject) -> tuple[str, ...]:
    """The names of the panels that show something of the decision."""
    return tuple(name for name, panel in PANELS.items() if panel.wanted(subject))


async def load_named_panels(
    connection: Connection, subject: PanelSubject, names: Sequence[str]
) -> PanelValues:
    """The values of the templates of these panels."""
    async with round_of_reads(connection) as reads:
        loading = [reads.read(PANELS[name].load(connection, subject)) for name in names if name != "position"]
    values: PanelValues = {}
    for each in loading:
        values |= each.result()
    if "position" in names:
        values |= await _position(connection, subject)
    return values


def panel_requests(names: Sequence[str]) -> tuple[str, ...]:
    """How a browser requests these panels: the position alone, because its search may take longest."""
    first = ",".join(name for name in names if name != "position")
    return tuple(each for each in (first, "position" if "position" in names else "") if each)


def log_detail(values: PanelValues) -> dict[str, int]:
    """What the access log says of texts that are shown and were never sent."""
    found: Panel | None = values.get("features")
    return found.detail if found else {}
