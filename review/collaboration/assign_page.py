"""Assigning a decision to a person, and undoing that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.collaboration import assignments
from db.collaboration.assignments import AssignedDecision, ChangedSince, HeldByAnother
from db.connection import Connection
from review.access import Right
from review.collaboration.requests import colleague_named, decision_of_path, refuse_held
from review.decision.collaboration_panel import REVIEWERS
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.queues.review_pages import redirect_to_decision
from review.typed.problems import button_problem


async def assign(visit: Visit) -> Response:
    """Assign the decision to the person of the field ``login``; ``act=none`` ends the assignment."""
    made = await decision_of_path(visit, Right.REVIEW)
    login = visit.person.login if visit.field("act") == "mine" else visit.field("login")
    async with _changing(visit, made) as connection:
        chosen = None
        if visit.field("act") != "none":
            chosen = await colleague_named(connection, made.user_id, REVIEWERS, login)
        await assignments.assign(connection, made, chosen.person_id if chosen else None, visit.now)
        await _log(visit, connection, made, {"to": chosen.login if chosen else ""})
    return redirect_to_decision(visit, made.decision_id, "assignment")


async def undo(visit: Visit) -> Response:
    """Give the decision back to who had it before the change that the form names."""
    made = await decision_of_path(visit, Right.REVIEW)
    try:
        change = UUID(visit.field("change"))
    except ValueError:
        raise Refused(400, _("Which change?"), button_problem()) from None
    async with _changing(visit, made) as connection:
        await assignments.undo_assignment(connection, made, change, visit.now)
        await _log(visit, connection, made, {"undone": True})
    return redirect_to_decision(visit, made.decision_id, "assignment")


@asynccontextmanager
async def _changing(visit: Visit, made: AssignedDecision) -> AsyncIterator[Connection]:
    try:
        async with visit.store.writing() as connection:
            await refuse_held(visit, connection, made.decision_id)
            yield connection
    except HeldByAnother as held:
        text = _("%(name)s reads this decision in a queue now. Assign it when they have finished.")
        raise Refused(409, _("Not now"), text % {"name": held}) from None
    except ChangedSince:
        text = _("It was assigned again or reviewed since. Load the page again.")
        raise Refused(409, _("Changed since"), text) from None


async def _log(
    visit: Visit, connection: Connection, made: AssignedDecision, detail: dict[str, object]
) -> None:
    await visit.log(
        LoggedAction.ASSIGN,
        user_id=made.user_id,
        decision_id=made.decision_id,
        detail=detail,
        connection=connection,
    )
