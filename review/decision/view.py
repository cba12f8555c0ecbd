"""One decision as its page shows it: the stored facts, and the texts as far as this person may see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from markupsafe import Markup

from db.answers.state import answer_of
from db.audit.decision_context import DecisionRow, ExchangeLine, Sealed, StoredLines
from db.audit.settings_snapshot import SettingsSnapshot
from db.history.conversation_owners import OwnerRecord
from db.reviews.visible_decision import VisibleDecision
from review.content_covers import cover_reason
from review.decision import margins
from review.decision.clauses import ExplanationFacts
from review.decision.explanation import answer_sentence, explain
from review.decision.highlights import MatchLine, finding_spans, highlighted_html, match_lines
from review.decision.margins import Margin
from review.decision.notices import notices
from review.languages import gettext
from review.words.decisions import MODERATOR_OUTCOMES, attempt_wording, duration_wording, value_wording
from worker.model import Json
from worker.reasons import Reason, ReasonFamily, reasons_of
from worker.snapshot import ModeratorRecord, Snapshot, SnapshotStage

CONVERSATION_REASONS: Final = frozenset(
    {
        *reasons_of(ReasonFamily.PEOPLE, ReasonFamily.CONVERSATION, ReasonFamily.FEEDBACK),
        Reason.AUTO_REPLY_LOOP_ESCALATED,  # of the family of handoffs; an exchange of messages causes it
    }
)
STORED_CHARS: Final = 500
"""Characters of a message that the audit stores (Silent Guardrails)."""
SHOWN_ELSEWHERE: Final = frozenset({"highest", "moderators"})
NOTHING_SEALED: Final = Sealed(count=0, expires_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """The frame of one decision's page, for one person.

    Attributes:
        history: lines of the exchange in the stored history.
        sealed: lines in quarantine, without texts for people who may not read them.
        settings: the account's settings that the decision used, and those in force.
        covered_categories: the person wants texts of these covered.
        may_read_sealed: the person may read the lines in quarantine.
        revealed: the person requested the covered texts.
        owner: the stored owner of the conversation; None when people never had it, and while blind.
        blind: the reviews are hidden from the person; the record is as ``without_reviews`` gives it.
    """

    row: DecisionRow
    snapshot: Snapshot
    history: tuple[ExchangeLine, ...]
    sealed: Sealed
    settings: SettingsSnapshot
    covered_categories: tuple[str, ...]
    may_read_sealed: bool
    revealed: bool = False
    blind: bool = False
    owner: OwnerRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """One line of the waterfall; ``start`` and ``width`` in thousandths of the working time."""

    name: str
    outcome: str
    duration_ms: float
    start: float
    width: float
    detail: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTexts:
    """The texts of the exchange.

    Attributes:
        message: the message with its highlights; all of it when ``complete``.
        draft: the stopped draft with its highlights; None when there is none to show.
        other_sealed: sealed lines that are neither ``message`` nor ``draft``.
    """

    message: Markup
    complete: bool
    draft: Markup | None
    matches: tuple[MatchLine, ...]
    other_sealed: tuple[ExchangeLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """What the templates show in addition to the record.

    Attributes:
        cover: why the texts are covered; empty when they are shown.
        sentence: what became of the message: what a person answered, else why the AI decided so.
        decided: why the AI decided so, where ``sentence`` is about a person; else empty.
        texts: None while they are covered.
        not_in_history: the stored history holds nothing of this exchange.
        waited_ms: before its turn.
        of_conversation: another event of the conversation, or its owner, caused the ending.
        worked_ms: all stages together.
    """

    cover: tuple[str, ...]
    sentence: str
    decided: str
    notices: tuple[str, ...]
    texts: ShownTexts | None
    not_in_history: bool
    stages: tuple[TraceLine, ...]
    waited_ms: float
    worked_ms: float
    moderation: tuple[Margin, ...]
    confidence: tuple[Margin, ...]
    of_conversation: bool


def decision_record(
    decision: VisibleDecision,
    stored: StoredLines,
    settings: SettingsSnapshot,
    *,
    covered_categories: tuple[str, ...],
    may_read_sealed: bool,
) -> DecisionRecord:
    """The record of a decision; while its reviews are hidden, as ``without_reviews`` gives it."""
    sealed = stored.sealed if decision.snapshot.quarantined or decision.blind else NOTHING_SEALED
    record = DecisionRecord(
        row=decision.row,
        snapshot=decision.snapshot,
        history=stored.history,
        sealed=sealed if may_read_sealed else replace(sealed, lines=()),
        settings=settings,
        covered_categories=covered_categories,
        may_read_sealed=may_read_sealed,
        owner=decision.owner,
    )
    return without_reviews(record) if decision.blind else record


def without_reviews(record: DecisionRecord) -> DecisionRecord:
    """The record for a blind reading: the exchange is where the decision left it."""
    row, sealed = record.row | {"reply_cancelled_at": None}, record.snapshot.quarantined
    lines = tuple(replace(each, expires_at=None) for each in (*record.history, *record.sealed.lines))
    lines = tuple(sorted(dict.fromkeys(lines), key=lambda line: line.role, reverse=True))
    return replace(
        record,
        row=row,
        owner=None,
        blind=True,
        sealed=Sealed(count=0, expires_at=None, lines=lines if sealed and record.may_read_sealed else ()),
        history=() if sealed else lines,
    )


def build_view(record: DecisionRecord) -> DecisionView:
    """The view of a record, without covered texts."""
    row, snapshot = record.row, record.snapshot
    cover = () if record.revealed else cover_reason(record.covered_categories, row, snapshot)
    worked_ms = sum(stage.duration_ms for stage in snapshot.stages)
    settings = record.settings.used
    facts = ExplanationFacts(
        row=row,
        snapshot=snapshot,
        settings=settings,
        margins=margins.assessment_margins(snapshot, settings.assessment_policy if settings else None),
        hides_rule=bool(cover),
    )
    decided, answered = explain(facts), answer_sentence(answer_of(row))
    return DecisionView(
        cover=cover,
        sentence=answered or decided,
        decided=decided if answered else "",
        notices=notices(facts),
        texts=None if cover else _shown_texts(record),
        not_in_history=not record.history,
        stages=tuple(_stages(snapshot.stages, worked_ms or 1.0)),
        waited_ms=max(0.0, _age_ms(record) - worked_ms),
        worked_ms=worked_ms,
        moderation=margins.moderation_margins(snapshot),
        confidence=facts.margins,
        of_conversation=row["reason_code"] in CONVERSATION_REASONS,
    )


def _shown_texts(record: DecisionRecord) -> ShownTexts:
    snapshot, draft = record.snapshot, stopped_draft(record)
    message, complete = whole_message(record)
    return ShownTexts(
        message=highlighted_html(message, finding_spans(snapshot, reply=False)),
        complete=complete,
        draft=None if draft is None else highlighted_html(draft, finding_spans(snapshot, reply=True)),
        matches=tuple(match_lines(snapshot, message, draft or "")),
        other_sealed=tuple(line for line in record.sealed.lines if line.text not in {message, draft}),
    )


def whole_message(record: DecisionRecord) -> tuple[str, bool]:
    """The message as far as this person may see it, and whether it is complete."""
    stored: str = record.row["message_text"]
    if len(stored) < STORED_CHARS:
        return stored, True
    lines = (*record.history, *record.sealed.lines)
    longer = [line.text for line in lines if line.role == "user" and line.text.startswith(stored)]
    return (longer[-1], True) if longer else (stored, False)


def stopped_draft(record: DecisionRecord) -> str | None:
    """The draft that a guard stopped, if this person may read it."""
    if not record.snapshot.quarantined or not record.row["reason_code"].startswith("REPLY_"):
        return None
    return next((line.text for line in reversed(record.sealed.lines) if line.role == "assistant"), None)


def _stages(stages: tuple[SnapshotStage, ...], total_ms: float) -> Iterator[TraceLine]:
    before_ms = 0.0
    for stage in stages:
        yield TraceLine(
            name=stage.stage,
            outcome=stage.outcome,
            duration_ms=stage.duration_ms,
            start=round(1000 * before_ms / total_ms, 1),
            width=round(max(4.0, 1000 * stage.duration_ms / total_ms), 1),
            detail=(*_detail(stage.detail), *map(_moderator_line, stage.moderators)),
        )
        before_ms += stage.duration_ms


def _detail(detail: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in detail.items():
        if name not in SHOWN_ELSEWHERE and value not in ([], None, ""):
            shown = f"{value:.2f}" if isinstance(value, float) else value
            yield name.replace("_", " "), shown if isinstance(shown, str) else value_wording(shown)


def _moderator_line(each: ModeratorRecord) -> tuple[str, str]:
    """A moderator's name, and its outcome with time and model or failure."""
    outcome = gettext(MODERATOR_OUTCOMES.get(each.outcome, each.outcome))
    source = attempt_wording(each.error) if each.error else each.model
    took = duration_wording(each.duration_ms / 1000) if each.duration_ms else ""
    return each.name, ", ".join(part for part in (outcome, took, source) if part)


def _age_ms(record: DecisionRecord) -> float:
    """From the arrival of the event to the decision; 0 when the arrival is unknown."""
    made, received = record.row["created_at"], record.snapshot.received_at
    return 0.0 if received is None else float((made - received) / timedelta(milliseconds=1))
