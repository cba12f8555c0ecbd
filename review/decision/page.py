"""The decision page, its similar decisions, and the texts that a cover hides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers import records
from db.answers.answering import load_answering
from db.audit import erased, settings_snapshot, similar
from db.audit.decision_context import DecisionRow
from db.connection import Connection, round_of_reads
from db.reviews import exchanges, queue_items, rulings
from db.reviews.visible_decision import VisibleDecision, load_visible_decision
from review.access import Right
from review.answers.panel import answer_panel
from review.content_covers import cover_reason
from review.decision.change_page import change_page
from review.decision.draft_grounds import assessed_draft, decision_grounds, decision_reading
from review.decision.list_position import list_position, list_query
from review.decision.measure_bars import measure_bars
from review.decision.panels import (
    PANELS,
    PanelSubject,
    load_named_panels,
    log_detail,
    panel_requests,
    wanted_panels,
)
from review.decision.review_form import ReviewFields
from review.decision.review_panel import ReviewReads, review_panel
from review.decision.view import build_view, decision_record
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import ngettext
from review.languages.choice import ZONE_COOKIE
from review.panels import Panel

EMPTY_PANELS: Final[dict[str, Any]] = {
    "webhooks": (),
    "retractions": (),
    "handoff": None,
    "feedback": (),
    "late": None,
    "features": Panel(),
}
"""Values of panels that a page shows without, or before, their load."""
REVEALING: Final = (LoggedAction.REVEAL, LoggedAction.DOWNLOAD)
"""Readings for which the person asked for the covered texts."""
NOT_FOUND: Final = Refused(
    404,
    "No such decision",
    "There is no decision with this id, or it belongs to an account that you may not see.",
)


async def show_decision(visit: Visit, action: LoggedAction = LoggedAction.READ) -> Response:
    """A decision, its texts covered where the person chose that and does not reveal them.

    The id of a person's answer, as the reply stream has it, leads to the decision that it answers.
    """
    inline = ZONE_COOKIE not in visit.request.cookies or action is LoggedAction.REVEAL or visit.partial
    inline = inline or "whole" in visit.request.query_params
    try:
        values = await load_page(visit, action, inline_panels=inline)
    except Refused as refused:
        answer_id = visit.path_id("decision_id", refused)
        async with visit.store.autocommit() as connection:
            answered = await records.answered_decision(connection, answer_id)
        if refused is not NOT_FOUND or answered is None:
            raise
        return visit.redirect("decision", decision_id=answered)
    content_only = visit.partial and visit.form.get("part") == "content"
    template = "decision/_content.html" if content_only else "decision/page.html"
    return visit.render(template, **values)


async def reveal_texts(visit: Visit) -> Response:
    """The decision with its texts shown; htmx gets the part that it requests."""
    if visit.partial and visit.form.get("part") == "line":
        row = await load_row(visit)
        await visit.log(LoggedAction.REVEAL, user_id=row["user_id"], decision_id=row["id"])
        return visit.render("decision/line.html", text=row["message_text"])
    return await show_decision(visit, LoggedAction.REVEAL)


async def show_similar(visit: Visit) -> Response:
    """Similar decisions, each under its own cover; on request only, as comparing texts takes longer."""
    async with visit.store.autocommit() as connection:
        decision = await visible_decision_of_path(visit, connection)
        row = decision.row
        found = await similar.similar_to(connection, row["id"])
    await visit.log(
        LoggedAction.LIST, user_id=row["user_id"], decision_id=row["id"], detail={"similar": True}
    )
    pairs = tuple(
        (
            replace(each, state="open") if each.row["id"] in decision.hidden_decisions else each,
            cover_reason(visit.person.covered, each.row),
        )
        for each in found
        if visit.may(Right.VIEW, each.row["user_id"])
    )
    template = "decision/_similar.html" if visit.partial else "decision/similar.html"
    return visit.render(template, row=row, similar=pairs)


async def show_rejected_review(visit: Visit, fields: ReviewFields, *, status: int, problem: str) -> Response:
    """The page with a review that was not stored, the reason, and what the person typed."""
    values = await load_page(visit, LoggedAction.READ)
    values["panel"] = replace(values["panel"], fields=fields, problem=problem)
    return visit.render("decision/page.html", status=status, **values)


async def show_panels(visit: Visit) -> Response:
    """Panels of the decision page, by their names in the path; those that show nothing are left out."""
    names = visit.request.path_params["names"].split(",")
    if not set(names) <= PANELS.keys():
        raise NOT_FOUND
    async with visit.store.autocommit() as connection:
        subject = _subject(visit, await visible_decision_of_path(visit, connection))
        wanted = [name for name in wanted_panels(subject) if name in names]
        loaded = await load_named_panels(connection, subject, wanted)
        detail = log_detail(loaded)
        # soon after the page, its line stands for texts that were sent
        if visit.note_reading(f"decision {subject.row['id']}") or detail:
            await _log(connection, LoggedAction.READ, subject, detail)
    slots = [slot for name in wanted for slot in PANELS[name].slots]
    return visit.render("decision/panels.html", slots=slots, **_shared(subject) | loaded)


async def load_page(visit: Visit, action: LoggedAction, *, inline_panels: bool = True) -> dict[str, Any]:
    """The values of the page's templates; writes a line of the access log.

    Without ``inline_panels`` a browser with scripts requests the panels.
    """
    async with visit.store.autocommit() as connection:
        decision = await visible_decision_of_path(visit, connection)
        subject, values = await _load_frame(visit, connection, decision, revealed=action in REVEALING)
        wanted = wanted_panels(subject)
        loaded = await load_named_panels(connection, subject, wanted) if inline_panels else {}
        texts = values["answering"].held.texts
        drafts = {"drafts": len(texts)} if texts else {}
        visit.note_reading(f"decision {subject.row['id']}")  # panels that follow need no line of their own
        await _log(connection, action, subject, drafts | log_detail(loaded))
    return {
        **EMPTY_PANELS,
        **values,
        **loaded,
        "inlined": wanted if inline_panels else (),
        "waiting": () if inline_panels else panel_requests(wanted),
    }


async def _load_frame(
    visit: Visit, connection: Connection, decision: VisibleDecision, *, revealed: bool
) -> tuple[PanelSubject, dict[str, Any]]:
    """What the page shows at once: one round of reads."""
    row, snapshot, person_id = decision.row, decision.snapshot, visit.person.person_id
    subject = replace(_subject(visit, decision), revealed=revealed)
    subject = replace(subject, cover=()) if revealed else subject
    async with round_of_reads(connection) as reads:
        reviews = reads.read(rulings.reviews_and_own(connection, row["id"], person_id, visit.now))
        claims = reads.read(
            queue_items.load_claims(
                connection, row["id"], person_id, visit.now, accounts=visit.accounts(Right.REVIEW)
            )
        )
        exchange_read = reads.read(exchanges.load_exchange_lines(connection, decision.subject, visit.now))
        settings = reads.read(settings_snapshot.settings_of_decision(connection, row, snapshot))
        answering = reads.read(
            load_answering(
                connection,
                row,
                visit.now,
                may_read=subject.may_review and not subject.cover,
                passage_ids=[each.passage_id for each in snapshot.passages],
            )
        )
    exchange, lines = exchange_read.result()
    record = decision_record(
        decision,
        lines,
        settings.result(),
        covered_categories=visit.person.covered,
        may_read_sealed=subject.may_review,
    )
    record = replace(record, revealed=revealed)
    view = build_view(record)
    found = ReviewReads(
        reviews=reviews.result()[0],
        undoable=reviews.result()[1],
        claims=claims.result(),
        exchange=exchange,
    )
    draft = assessed_draft(decision, answering.result().held, answering.result().passages)
    return subject, _shared(subject) | {
        "record": record,
        "panel": review_panel(visit, decision, found),
        "view": view,
        "change_page": None if decision.blind else change_page(row),
        "answering": answer_panel(visit, row, answering.result(), blind=decision.blind),
        "passages": answering.result().passages,
        "bars": measure_bars(snapshot.assessment, view.confidence, view.moderation),
        "grounds": None if view.cover else decision_grounds(record, draft),
        "reading": decision_reading(record, draft, covered=bool(view.cover)),
    }


def _subject(visit: Visit, decision: VisibleDecision) -> PanelSubject:
    cover = cover_reason(visit.person.covered, decision.row, decision.snapshot)
    return PanelSubject(visit=visit, decision=decision, cover=cover)


def _shared(subject: PanelSubject) -> dict[str, Any]:
    """Values that the templates of the frame and of the panels share."""
    came_from = list_query(subject.visit)
    return {
        "row": subject.row,
        "snapshot": subject.decision.snapshot,
        "owner": None if subject.decision.blind else subject.decision.owner,
        "cover": subject.cover,
        "came_from": came_from,
        "position": list_position(subject.visit),
        "panel_query": "" if came_from is None else "?" + urlencode({"from": came_from}),
    }


async def _log(
    connection: Connection, action: LoggedAction, subject: PanelSubject, detail: dict[str, int]
) -> None:
    row = subject.row
    await subject.visit.log(
        action, user_id=row["user_id"], decision_id=row["id"], detail=detail or None, connection=connection
    )


async def load_row(visit: Visit) -> DecisionRow:
    """The decision of the path; raises as ``show_decision`` refuses."""
    return (await load_decision(visit)).row


async def load_decision(visit: Visit) -> VisibleDecision:
    """The decision of the path, with what the person may know of it; raises as ``show_decision`` refuses."""
    async with visit.store.autocommit() as connection:
        return await visible_decision_of_path(visit, connection)


async def visible_decision_of_path(visit: Visit, connection: Connection) -> VisibleDecision:
    """The decision of the path.

    Raises:
        Refused: 404 for a decision that the person may not know of, 410 for one that is no longer stored.
    """
    decision_id = visit.path_id("decision_id", NOT_FOUND)
    decision = await load_visible_decision(connection, decision_id, visit.person.person_id)
    if decision is not None and visit.may(Right.VIEW, decision.row["user_id"]):
        return decision
    gone = await erased.erased_decision(connection, decision_id) if decision is None else None
    if gone is None or not visit.may(Right.VIEW, gone.user_id):
        raise NOT_FOUND
    raise Refused(410, "This decision is no longer stored", _erased_message(gone))


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
