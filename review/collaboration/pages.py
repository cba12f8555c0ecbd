"""Collaboration: comments with mentions, the inbox, and the assignment of a decision to a person."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.collaboration import assignments, colleagues, comments
from db.collaboration.assignments import AssignedDecision, ChangedSince, HeldByAnother
from db.collaboration.colleagues import Colleague
from db.collaboration.comments import COMMENT_CHARS, NewComment
from db.connection import Connection
from db.people.records import Role
from db.reviews import queue_items
from review.access import Right
from review.decision.collaboration_panel import READERS, REVIEWERS
from review.decision.page import load_row
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.queues.review_pages import redirect_to_decision
from review.typed.problems import button_problem, length_problem

NO_COMMENT: Final = Refused(
    404, "No such comment", "It is not yours, was withdrawn, or belongs to another decision."
)


async def add_comment(visit: Visit) -> Response:
    """Append a comment; the people it mentions find it in their inbox."""
    made = await decision_of_path(visit, Right.VIEW)
    text = visit.field("comment").strip()
    async with visit.store.writing() as connection:
        await refuse_held(visit, connection, made.decision_id)
        text = await _with_notified(visit, connection, made, text)
        if not 0 < len(text) <= COMMENT_CHARS:
            raise Refused(422, _("Not stored"), length_problem(COMMENT_CHARS))
        named = await colleagues.colleagues_named(connection, made.user_id, READERS, mentioned_logins(text))
        new = NewComment(
            decision_id=made.decision_id,
            decision_at=made.decision_at,
            user_id=made.user_id,
            person_id=visit.person.person_id,
            person=visit.person.login,
            text=text,
            mentioned=[each.person_id for each in named],
        )
        await comments.add_comment(connection, new, visit.now)
        await _log(
            visit, connection, made, LoggedAction.COMMENT, {"change": "written", "mentioned": len(named)}
        )
    return redirect_to_decision(visit, made.decision_id, "comments")


async def withdraw_comment(visit: Visit) -> Response:
    """Withdraw a comment of one's own: its text and its mentions go, its place stays."""
    made = await decision_of_path(visit, Right.VIEW)
    comment_id: UUID = visit.path_id("comment_id", NO_COMMENT)
    async with visit.store.writing() as connection:
        person_id = visit.person.person_id
        if not await comments.withdraw_comment(
            connection, comment_id, made.decision_id, person_id, visit.now
        ):
            raise NO_COMMENT
        await _log(visit, connection, made, LoggedAction.COMMENT, {"change": "withdrawn"})
    return redirect_to_decision(visit, made.decision_id, "comments")


async def _with_notified(visit: Visit, connection: Connection, made: AssignedDecision, text: str) -> str:
    """The text, with the person of the field ``notify`` in front unless it mentions them."""
    login = visit.field("notify").strip()
    if not login:
        return text
    found = await colleague_named(connection, made.user_id, READERS, login.removeprefix("@"))
    return text if found.login in mentioned_logins(text) or not text else f"@{found.login} {text}"


async def _log(
    visit: Visit,
    connection: Connection,
    made: AssignedDecision,
    action: LoggedAction,
    detail: Mapping[str, object],
) -> None:
    await visit.log(
        action,
        user_id=made.user_id,
        decision_id=made.decision_id,
        detail=detail,
        connection=connection,
    )


MENTION: Final = re.compile(r"(?<![\w@.+-])@([\w][\w.+@-]*)")
MOST: Final = 20
"""Mentions of one comment that count."""
ENDS: Final = ".-@+"
"""Characters that may end a sentence rather than a login."""


def mentioned_logins(text: str) -> tuple[str, ...]:
    """The logins that a text may mention, lower case; with and without the punctuation after them."""
    found: dict[str, None] = {}
    for name in MENTION.findall(text)[:MOST]:
        login = name.lower()
        found |= {login: None, login.rstrip(ENDS): None}
    return tuple(found)


async def show_inbox(visit: Visit) -> Response:
    """Mentions and assigned decisions of the accounts that the person may see."""
    person_id, reviewed = visit.person.person_id, visit.accounts(Right.REVIEW)
    async with visit.store.reading() as connection:
        mentions = await comments.list_mentions(connection, person_id, visit.accounts())
        assigned = await assignments.list_own(connection, person_id, reviewed)
        waiting = await assignments.count_own(connection, person_id, reviewed)
    await visit.log(LoggedAction.LIST, detail={"inbox": len(mentions) + len(assigned)})
    return visit.render("collaboration/inbox.html", mentions=mentions, assigned=assigned, waiting=waiting)


async def mark_read(visit: Visit) -> Response:
    """Mark the mentions on the decision of the form, or all, as read. An open page sends the form itself."""
    decision_id = visit.field_id("decision")
    async with visit.store.writing() as connection:
        await comments.mark_seen(connection, visit.person.person_id, visit.now, decision_id)
    if visit.partial:
        return Response()
    if decision_id is not None:
        return redirect_to_decision(visit, decision_id, "comments")
    return visit.redirect("inbox")


async def assign(visit: Visit) -> Response:
    """Assign the decision to the person of the field ``login``; ``act=none`` ends the assignment."""
    made = await decision_of_path(visit, Right.REVIEW)
    login = visit.person.login if visit.field("act") == "mine" else visit.field("login")
    async with _changing(visit, made) as connection:
        chosen = None
        if visit.field("act") != "none":
            chosen = await colleague_named(connection, made.user_id, REVIEWERS, login)
        await assignments.assign(connection, made, chosen.person_id if chosen else None, visit.now)
        await _log(visit, connection, made, LoggedAction.ASSIGN, {"to": chosen.login if chosen else ""})
    return redirect_to_decision(visit, made.decision_id, "assignment")


async def undo(visit: Visit) -> Response:
    """Give the decision back to who had it before the change that the form names."""
    made = await decision_of_path(visit, Right.REVIEW)
    if (change := visit.field_id("change")) is None:
        raise Refused(400, _("Which change?"), button_problem())
    async with _changing(visit, made) as connection:
        await assignments.undo_assignment(connection, made, change, visit.now)
        await _log(visit, connection, made, LoggedAction.ASSIGN, {"undone": True})
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


async def decision_of_path(visit: Visit, right: Right) -> AssignedDecision:
    """The decision of the path, for a change; refused as its page is, or without the right."""
    row = await load_row(visit)
    visit.require(right, row["user_id"])
    made: datetime = row["created_at"]
    return AssignedDecision(
        decision_id=row["id"], decision_at=made, user_id=row["user_id"], by=visit.person.login
    )


async def refuse_held(visit: Visit, connection: Connection, decision_id: UUID) -> None:
    """Refuse (409) while the person holds the decision in a queue: its kind must not show."""
    if await queue_items.held_item(connection, decision_id, visit.person.person_id) is not None:
        text = _("You hold this decision in a queue. Answer, skip or release it first.")
        raise Refused(409, _("Not now"), text)


async def colleague_named(
    connection: Connection, user_id: str, roles: tuple[Role, ...], login: str
) -> Colleague:
    """The person of a login with one of the roles; refused (422) alike for unknown people and strangers."""
    found = await colleagues.colleagues_named(connection, user_id, roles, (login.strip().lower(),))
    if not found:
        text = _("Write the login of a person who has the right on this account, as the list suggests.")
        raise Refused(422, _("Unknown person"), text)
    return found[0]
