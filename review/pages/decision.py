"""One decision whole: why it ended so, what was said, what was measured; and the lifting of covers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db import decision_page, exchanges, gone, items, rules_then
from db.access_log import Action
from db.decision_page import Connection, Row, Sealed
from review.access import Right
from review.reviewing.drafts import Draft
from review.reviewing.panel import Panel, panel_on
from review.reviewing.similar import similar_decisions
from review.story.scene import scene
from review.story.story import Story, without_reviews
from review.story.walking import walk
from review.web import Refused, Visit

NOTHING_SEALED: Final = Sealed(count=0, expires_at=None)
NOT_FOUND: Final = Refused(
    404, "No such decision", "There is no decision of this id, or it belongs to an account you may not see."
)


async def page(visit: Visit) -> Response:
    """A decision, its texts covered where the person wants that."""
    return await _whole(visit, Action.READ)


async def reveal(visit: Visit) -> Response:
    """The same with its texts shown; htmx gets the piece it asked for."""
    if visit.partial and visit.form.get("part") == "line":
        row = await _row(visit)
        await visit.log(Action.REVEAL, user_id=row["user_id"], decision_id=row["id"])
        return visit.render("decision/line.html", text=row["message_text"])
    return await _whole(visit, Action.REVEAL)


async def similar(visit: Visit) -> Response:
    """Decisions like this one, each under its own cover; asked for apart, as comparing texts takes longer."""
    row = await _row(visit)
    await visit.log(Action.LIST, user_id=row["user_id"], decision_id=row["id"], detail={"similar": True})
    found = await similar_decisions(visit, row["id"])
    template = "decision/_similar.html" if visit.partial else "decision/similar.html"
    return visit.render(template, row=row, similar=found)


async def again(visit: Visit, draft: Draft, *, status: int, problem: str) -> Response:
    """The page with a review that was not stored, and why; what was typed is kept."""
    values = await told(visit, Action.READ)
    values["panel"] = replace(values["panel"], draft=draft, problem=problem)
    return visit.render("decision/page.html", status=status, **values)


async def told(visit: Visit, action: Action) -> dict[str, Any]:
    """Everything that the parts of a decision's page show; a line of the access log says so."""
    async with visit.store.reading() as connection:
        row = await _row_on(visit, connection)
        panel = await panel_on(visit, connection, exchanges.subject_of(row))
        story = await _story(visit, connection, row, panel)
        way = await walk(visit, connection, row)
    await visit.log(action, user_id=row["user_id"], decision_id=row["id"])
    story = replace(story, revealed=action is Action.REVEAL)
    return {"story": story, "panel": panel, "scene": scene(story), "walk": way}


async def _whole(visit: Visit, action: Action) -> Response:
    values = await told(visit, action)
    if visit.partial and visit.form.get("part") == "story":
        return visit.render("decision/_story.html", **values)
    return visit.render("decision/page.html", **values)


async def _row(visit: Visit) -> Row:
    async with visit.store.reading() as connection:
        return await _row_on(visit, connection)


async def _row_on(visit: Visit, connection: Connection) -> Row:
    """The decision of the path.

    Raises:
        Refused: 404 for what the person may not know of, 410 for what was there once.
    """
    try:
        decision_id = UUID(visit.request.path_params["decision_id"])
    except ValueError as error:
        raise NOT_FOUND from error
    row = await decision_page.decision(connection, decision_id)
    if row is not None and visit.may(Right.VIEW, row["user_id"]):
        return row
    left = await gone.trace_of(connection, decision_id) if row is None else None
    if left is None or not visit.may(Right.VIEW, left.user_id):
        raise NOT_FOUND
    raise Refused(410, "This decision is not kept any more", _farewell(left))


async def _story(visit: Visit, connection: Connection, row: Row, panel: Panel) -> Story:
    snapshot, user_id = row["snapshot_json"], row["user_id"]
    opened = visit.may(Right.REVIEW, user_id)
    read_seal = decision_page.sealed_texts if opened else decision_page.sealed
    taken_back = decision_page.retractions(connection, row["id"]) if row["reply_created_at"] else None
    story = Story(
        row=row,
        conversation=await decision_page.conversation(connection, row),
        sealed=await read_seal(connection, row["id"], visit.now)
        if snapshot["quarantined"] or panel.hidden
        else NOTHING_SEALED,
        retractions=await taken_back if taken_back else (),
        rules=await rules_then.pinned(connection, user_id, snapshot["rules_version"], row["matched_rule"]),
        passages=await decision_page.passages(
            connection, user_id, [each["id"] for each in snapshot["passages"]]
        ),
        covered=visit.person.covered,
        seals_opened=opened,
        hidden=await items.hidden(connection, visit.person.person_id),
    )
    return without_reviews(story) if panel.hidden else story


def _farewell(left: gone.Trace) -> str:
    made = f"It was made on {left.made_at:%Y-%m-%d %H:%M} UTC for account {left.user_id}."
    if left.month_dropped:
        why = f"The audit of {left.made_at:%B %Y} has left the retention and was deleted as a whole."
    else:
        why = "It was erased since. What it said cannot be brought back."
    reviews = f"\n\n{left.reviews} reviews of it are kept, without its texts." if left.reviews else ""
    return f"{made}\n\n{why}{reviews}"
