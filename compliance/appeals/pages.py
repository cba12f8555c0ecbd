"""The list of appeals, one appeal with its decision as it was made, its outcome and the undo of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from compliance.appeals import outcomes, records
from compliance.appeals.outcomes import NewOutcome
from compliance.appeals.records import TEXT_CHARS, Appeal, AppealOutcome, AppealRefused, AppealState
from compliance.words import refusal_text
from db.access_log import LoggedAction
from db.answers.records import Answer, list_answers
from db.audit import decision_context, settings_snapshot
from db.audit.settings_snapshot import SettingsVersion
from db.connection import Connection, round_of_reads
from db.reviews import corrections, queue_items, rulings
from db.reviews.remedies import RemedyImpossible
from db.reviews.rulings import Review, ReviewRejected, RulingReason
from db.reviews.submission import StaleReview
from db.reviews.visible_decision import load_visible_decision
from review.access import Right
from review.decision.review_form import reviewer_of
from review.decision.view import DecisionRecord, DecisionView, build_view
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.queues.review_pages import withdraw
from worker.model import DecisionKind

MOST: Final = 100
NOT_FOUND: Final = Refused(
    404, mark("No such appeal"), mark("There is no appeal with this id, or you may not see it.")
)
BLIND: Final = Refused(
    409,
    mark("You read this decision blind"),
    mark("Review it in its queue first: the outcome of the appeal would show you what others think."),
)


async def list_appeals(visit: Visit) -> Response:
    """Open appeals, the first due first; or decided ones, newest first."""
    wanted = visit.request.query_params.get("state", AppealState.OPEN)
    state = AppealState(wanted) if wanted in frozenset(AppealState) else AppealState.OPEN
    accounts = visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        found = await shown_appeals(visit, connection, accounts, state, after=visit.query_id("after"))
        figures = await records.load_figures(connection, accounts, visit.now)
        taken = bool(found) or await records.taken_somewhere(connection, accounts)
    await visit.log(LoggedAction.LIST, detail={"appeals": len(found), "state": state})
    return visit.render(
        "appeals/list.html", appeals=found, state=state, figures=figures, taken=taken, most=MOST
    )


async def shown_appeals(
    visit: Visit,
    connection: Connection,
    accounts: tuple[str, ...] | None,
    state: AppealState,
    *,
    limit: int = MOST,
    after: UUID | None = None,
) -> tuple[Appeal, ...]:
    """A page of appeals, without outcomes on decisions that the person reads blind."""
    found = await records.list_appeals(connection, accounts, state, limit=limit, after=after)
    if state is AppealState.OPEN:
        return found
    hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    return tuple(each for each in found if each.decision_id not in hidden)


async def hidden_from(visit: Visit, connection: Connection, appeal: Appeal) -> bool:
    """Whether the person reads the decision blind, and the outcome would show what others think."""
    if appeal.outcome is None:
        return False
    return appeal.decision_id in await queue_items.hidden_decisions(connection, visit.person.person_id)


async def reveal_texts(visit: Visit) -> Response:
    """The page of an appeal with the covered texts shown."""
    return await show_appeal(visit, revealed=True)


async def decide(visit: Visit) -> Response:
    """Store the outcome."""
    appeal = await load_visible(visit)
    try:
        await store_outcome(
            visit, appeal, visit.field("outcome"), visit.field("statement"), visit.field("reason")
        )
    except AppealRefused as refused:
        return await show_appeal(visit, status=409, problem=refusal_text(refused.code), revealed=True)
    except (StaleReview, RemedyImpossible) as changed:
        return await show_appeal(visit, status=409, problem=str(changed), revealed=True)
    except ReviewRejected as rejected:
        return await show_appeal(visit, status=422, problem=str(rejected), revealed=True)
    return visit.redirect("appeal", appeal_id=appeal.id)


async def undo(visit: Visit) -> Response:
    """Withdraw the outcome's review: the appeal is open again."""
    appeal = await load_visible(visit)
    if appeal.review_id is None:
        raise Refused(409, _("Cannot be undone"), _("There is no outcome that could be undone."))
    async with visit.store.writing() as connection:
        await withdraw(visit, connection, appeal.review_id, appeal=str(appeal.id))
    return visit.redirect("appeal", appeal_id=appeal.id)


async def load_visible(visit: Visit) -> Appeal:
    """The appeal of the path.

    Raises:
        Refused: 404, there is none, or on an account that the person may not see; 403 without a review right.
    """
    appeal_id = visit.path_id("appeal_id", NOT_FOUND)
    async with visit.store.reading() as connection:
        appeal = await records.get_appeal(connection, appeal_id)
    if appeal is None or not visit.may(Right.VIEW, appeal.user_id):
        raise NOT_FOUND
    visit.require(Right.REVIEW, appeal.user_id)
    return appeal


async def store_outcome(
    visit: Visit, appeal: Appeal, outcome: str, statement: str, reason: str, **detail: object
) -> Appeal:
    """Decide an appeal, with its line of the access log.

    Raises:
        AppealRefused: it is decided, the person ruled on the decision before, or the statement is unusable.
        ReviewRejected: a field has an unknown value, or the decision changed meanwhile.
    """
    if outcome not in frozenset(AppealOutcome):
        text = _("Choose an outcome, %(known)s; got “%(got)s”.")
        raise ReviewRejected(text % {"known": ", ".join(AppealOutcome), "got": outcome[:40]})
    if outcome == AppealOutcome.RESTORED and not reason:
        raise ReviewRejected(_("Choose what was wrong with the decision."))
    if reason and reason not in frozenset(RulingReason):
        text = _("reason: expected one of %(known)s, got “%(got)s”")
        raise ReviewRejected(text % {"known": ", ".join(RulingReason), "got": reason[:40]})
    new = NewOutcome(
        appeal_id=appeal.id,
        outcome=AppealOutcome(outcome),
        statement=statement,
        reviewer=reviewer_of(visit),
        reason=RulingReason(reason) if reason else None,
    )
    async with visit.store.writing() as connection:
        decided = await outcomes.decide_appeal(connection, new, visit.now)
        await visit.log(
            LoggedAction.APPEAL,
            user_id=appeal.user_id,
            decision_id=appeal.decision_id,
            detail={"appeal": str(appeal.id), "outcome": outcome, "effect": decided.effect} | detail,
            connection=connection,
        )
    return decided


async def show_appeal(
    visit: Visit, *, status: int = 200, problem: str = "", revealed: bool = False
) -> Response:
    """The page: the appeal with its decision as made."""
    appeal = await load_visible(visit)
    async with visit.store.reading() as connection:
        made = await load_as_made(visit, connection, appeal.decision_id, revealed=revealed)
    if made is not None and made.blind and appeal.outcome is not None:
        raise BLIND
    action = LoggedAction.REVEAL if revealed else LoggedAction.READ
    detail = {"appeal": str(appeal.id)}
    await visit.log(action, user_id=appeal.user_id, decision_id=appeal.decision_id, detail=detail)
    return visit.render("appeals/appeal.html", status=status, problem=problem, **_values(visit, appeal, made))


def _values(visit: Visit, appeal: Appeal, made: DecisionAsMade | None) -> dict[str, Any]:
    reviewer, kind = reviewer_of(visit), made.record.row["decision"] if made else DecisionKind.IGNORE
    code = made.record.row["reason_code"] if made else ""
    fitting = corrections.FITTING[corrections.outcome_of(DecisionKind(kind), code)]
    return {
        "appeal": appeal,
        "made": made,
        "ruled": made is not None and outcomes.ruled_before(made.reviews, made.answers, reviewer),
        "mine": appeal.decided_by == reviewer.login,
        "undo_left_s": appeal.undo_left_s(visit.now),
        "reasons": [each.reason for each in fitting],
        "typed": {name: visit.field(name) for name in ("outcome", "statement", "reason")},
        "most": TEXT_CHARS,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAsMade:
    """What the page of an appeal shows of its decision.

    Attributes:
        settings: the version of the account's settings that the decision used; None when it is not stored.
        blind: the person reads the decision blind in a queue.
    """

    record: DecisionRecord
    view: DecisionView
    settings: SettingsVersion | None
    reviews: tuple[Review, ...]
    answers: tuple[Answer, ...]
    blind: bool


async def load_as_made(
    visit: Visit, connection: Connection, decision_id: UUID, *, revealed: bool
) -> DecisionAsMade | None:
    """The decision as made; None when it is no longer stored."""
    decision = await load_visible_decision(connection, decision_id, visit.person.person_id)
    if decision is None:
        return None
    async with round_of_reads(connection) as reads:
        lines = reads.read(decision_context.load_lines(connection, decision.row, visit.now))
        stored = reads.read(
            settings_snapshot.settings_of_decision(connection, decision.row, decision.snapshot)
        )
        reviews = reads.read(rulings.list_reviews(connection, decision_id))
        answers = reads.read(list_answers(connection, decision_id))
    settings = stored.result()
    record = DecisionRecord(
        row=decision.row,
        snapshot=decision.snapshot,
        history=lines.result().history,
        sealed=lines.result().sealed,
        settings=replace(settings, now=None),
        covered_categories=visit.person.covered,
        may_read_sealed=visit.may(Right.REVIEW, decision.row["user_id"]),
        revealed=revealed,
    )
    return DecisionAsMade(
        record=record,
        view=build_view(record),
        settings=settings.used,
        reviews=reviews.result(),
        answers=answers.result(),
        blind=decision.blind,
    )
