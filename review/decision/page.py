"""The decision page, its similar decisions, and the texts that a cover hides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers import records
from db.audit import decision_context, erased, settings_snapshot, similar
from db.audit.conversation_confidence import of_newest_replies
from db.audit.decision_context import DecisionRow, Sealed
from db.candidates.shadow_results import StoredFinding, findings_of_decision
from db.connection import Connection
from db.escalations.listing import load_escalation
from db.history import conversation_owners
from db.history.conversation_owners import ConversationIds, OwnerRecord
from db.reviews import exchanges, queue_items
from db.webhooks.of_reply import ReplyDelivery, deliveries_of_reply
from review.access import Right
from review.answers.panel import load_answer_panel
from review.content_covers import cover_reason
from review.decision.collaboration_panel import load_collaboration
from review.decision.draft_grounds import assessed_draft, decision_grounds, decision_reading
from review.decision.list_position import load_position
from review.decision.measure_bars import measure_bars
from review.decision.review_form import ReviewDraft
from review.decision.review_panel import ReviewPanel, load_review_panel
from review.decision.view import DecisionRecord, build_view, without_reviews
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import ngettext
from review.learn.wording import GROUPS
from worker.snapshot import Snapshot

NOTHING_SEALED: Final = Sealed(count=0, expires_at=None)
NOT_FOUND: Final = Refused(
    404,
    "No such decision",
    "There is no decision with this id, or it belongs to an account that you may not see.",
)


async def show_decision(visit: Visit, action: LoggedAction = LoggedAction.READ) -> Response:
    """A decision, its texts covered where the person chose that and does not reveal them.

    The id of a person's answer, as the reply stream has it, leads to the decision that it answers.
    """
    try:
        values = await load_page(visit, action)
    except Refused as refused:
        answer_id = visit.path_id("decision_id", refused)
        answered = await records.answered_decision(visit.store.pool, answer_id)
        if refused is not NOT_FOUND or answered is None:
            raise
        return visit.redirect("decision", decision_id=answered)
    content_only = visit.partial and visit.form.get("part") == "content"
    template = "decision/_content.html" if content_only else "decision/page.html"
    return visit.render(template, **values)


async def reveal_texts(visit: Visit) -> Response:
    """The decision with its texts shown; htmx gets the part that it requests."""
    if visit.partial and visit.form.get("part") == "line":
        async with visit.store.reading() as connection:
            row = await _load_row(visit, connection)
        await visit.log(LoggedAction.REVEAL, user_id=row["user_id"], decision_id=row["id"])
        return visit.render("decision/line.html", text=row["message_text"])
    return await show_decision(visit, LoggedAction.REVEAL)


async def show_similar(visit: Visit) -> Response:
    """Similar decisions, each under its own cover; on request only, as comparing texts takes longer."""
    async with visit.store.reading() as connection:
        row = await _load_row(visit, connection)
        found = await similar.similar_to(connection, row["id"])
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    await visit.log(
        LoggedAction.LIST, user_id=row["user_id"], decision_id=row["id"], detail={"similar": True}
    )
    pairs = tuple(
        (
            replace(each, state="open") if each.row["id"] in hidden else each,
            cover_reason(visit.person.covered, each.row),
        )
        for each in found
        if visit.may(Right.VIEW, each.row["user_id"])
    )
    template = "decision/_similar.html" if visit.partial else "decision/similar.html"
    return visit.render(template, row=row, similar=pairs)


async def show_rejected_review(visit: Visit, draft: ReviewDraft, *, status: int, problem: str) -> Response:
    """The page with a review that was not stored, the reason, and what the person typed."""
    values = await load_page(visit, LoggedAction.READ)
    values["panel"] = replace(values["panel"], draft=draft, problem=problem)
    return visit.render("decision/page.html", status=status, **values)


async def load_page(visit: Visit, action: LoggedAction) -> dict[str, Any]:
    """The values of the page's templates; writes a line of the access log."""
    async with visit.store.reading() as connection:
        row = await _load_row(visit, connection)
        subject = await exchanges.with_answer(connection, exchanges.subject_from_row(row))
        panel = await load_review_panel(visit, connection, subject)
        beside = await load_collaboration(visit, connection, row["id"], row["user_id"], hidden=panel.hidden)
        record = await _load_record(visit, connection, row, panel)
        position = await load_position(visit, connection, row)
        trust = await of_newest_replies(connection, row["user_id"], row["conversation_id"])
    record = replace(
        record,
        revealed=action is LoggedAction.REVEAL,
        owner=await _owner(visit, record),
        escalation=None if record.blind else await load_escalation(visit.store.pool, record.row["id"]),
        webhooks=await _webhooks(visit, record),
        shadows=await _shadows(visit, record),
    )
    view = build_view(record)
    answering = None if panel.hidden else await load_answer_panel(visit, row, covered=bool(view.cover))
    drafts = {"drafts": len(answering.held.texts)} if answering and answering.held.texts else {}
    replies = sum(each.reply is not None for each in record.shadows if not view.cover)
    detail = drafts | ({"shadow_replies": replies} if replies else {})
    await visit.log(action, user_id=row["user_id"], decision_id=row["id"], detail=detail or None)
    draft = assessed_draft(record, answering.held if answering else None)
    return {
        "record": record,
        "panel": panel,
        "collaboration": beside,
        "view": view,
        "position": position,
        "conversation_trust": trust,
        "answering": answering,
        "bars": measure_bars(record.snapshot.assessment, view.confidence, view.moderation),
        "difference_names": GROUPS,
        "grounds": None if view.cover else decision_grounds(record, draft),
        "reading": decision_reading(record, draft, covered=bool(view.cover)),
    }


async def load_row(visit: Visit) -> DecisionRow:
    """The decision of the path; raises as ``show_decision`` refuses."""
    async with visit.store.reading() as connection:
        return await _load_row(visit, connection)


async def _load_row(visit: Visit, connection: Connection) -> DecisionRow:
    """The decision of the path.

    Raises:
        Refused: 404 for a decision that the person may not know of, 410 for one that is no longer stored.
    """
    decision_id = visit.path_id("decision_id", NOT_FOUND)
    row = await decision_context.get_decision(connection, decision_id)
    if row is not None and visit.may(Right.VIEW, row["user_id"]):
        return row
    erased_decision = await erased.trace_of(connection, decision_id) if row is None else None
    if erased_decision is None or not visit.may(Right.VIEW, erased_decision.user_id):
        raise NOT_FOUND
    raise Refused(410, "This decision is no longer stored", _erased_message(erased_decision))


async def _load_record(
    visit: Visit, connection: Connection, row: DecisionRow, panel: ReviewPanel
) -> DecisionRecord:
    snapshot, user_id = Snapshot.from_json(row["snapshot_json"]), row["user_id"]
    may_read_sealed = visit.may(Right.REVIEW, user_id)
    load_sealed = decision_context.load_sealed_texts if may_read_sealed else decision_context.load_sealed
    record = DecisionRecord(
        row=row,
        snapshot=snapshot,
        conversation=await decision_context.load_conversation(connection, row),
        sealed=await load_sealed(connection, row["id"], visit.now)
        if snapshot.quarantined or panel.hidden
        else NOTHING_SEALED,
        retractions=await decision_context.list_retractions(connection, row["id"])
        if row["reply_created_at"]
        else (),
        settings=await settings_snapshot.load_settings_snapshot(
            connection, user_id, snapshot.rules_version, row["matched_rule"]
        ),
        passages=await decision_context.load_passages(
            connection, user_id, [each.passage_id for each in snapshot.passages]
        ),
        covered_categories=visit.person.covered,
        may_read_sealed=may_read_sealed,
        hidden_decisions=await queue_items.hidden_decisions(connection, visit.person.person_id),
    )
    return without_reviews(record) if panel.hidden else record


async def _owner(visit: Visit, record: DecisionRecord) -> OwnerRecord | None:
    """The stored owner of the conversation; hidden from blind readers, as colleagues may have changed it."""
    if record.blind:
        return None
    ids = ConversationIds(user_id=record.row["user_id"], conversation_id=record.row["conversation_id"])
    return await conversation_owners.load_owner(visit.store.pool, ids)


async def _webhooks(visit: Visit, record: DecisionRecord) -> tuple[ReplyDelivery, ...]:
    """The reply's deliveries; hidden from blind readers, as a colleague's review may have cancelled them."""
    row = record.row
    if record.blind or not row["reply_created_at"]:
        return ()
    return await deliveries_of_reply(visit.store.pool, row["user_id"], row["id"])


async def _shadows(visit: Visit, record: DecisionRecord) -> tuple[StoredFinding, ...]:
    """What candidates in shadow would have done; hidden from blind readers, whom it would lead."""
    if record.blind:
        return ()
    found = await findings_of_decision(visit.store.pool, record.row["id"])
    return found if record.may_read_sealed else tuple(replace(each, reply=None) for each in found)


def _erased_message(found: erased.ErasedDecision) -> str:
    lines = [
        _("It was made on %(when)s UTC for account %(account)s.")
        % {"when": f"{found.made_at:%Y-%m-%d %H:%M}", "account": found.user_id}
    ]
    if found.month_dropped:
        text = _("The audit of the month %(month)s exceeded the retention period and was deleted as a whole.")
        lines.append(text % {"month": f"{found.made_at:%Y-%m}"})
    else:
        lines.append(_("It was erased. Its texts cannot be restored."))
    if found.reviews:
        text = ngettext(
            "%(num)s review of it is stored, without its texts.",
            "%(num)s reviews of it are stored, without its texts.",
            found.reviews,
        )
        lines.append(text % {"num": found.reviews})
    return "\n\n".join(lines)
