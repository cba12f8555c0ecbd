"""Comments on a decision: writing one and withdrawing one's own."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.collaboration import colleagues, comments
from db.collaboration.assignments import AssignedDecision
from db.collaboration.comments import COMMENT_CHARS, NewComment
from db.connection import Connection
from review.access import Right
from review.collaboration.mentions import mentioned_logins
from review.collaboration.requests import colleague_named, decision_of_path, refuse_held
from review.decision.collaboration_panel import READERS
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.queues.review_pages import redirect_to_decision
from review.typed.problems import length_problem

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
        await _log(visit, connection, made, {"change": "written", "mentioned": len(named)})
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
        await _log(visit, connection, made, {"change": "withdrawn"})
    return redirect_to_decision(visit, made.decision_id, "comments")


async def _with_notified(visit: Visit, connection: Connection, made: AssignedDecision, text: str) -> str:
    """The text, with the person of the field ``notify`` in front unless it mentions them."""
    login = visit.field("notify").strip()
    if not login:
        return text
    found = await colleague_named(connection, made.user_id, READERS, login.removeprefix("@"))
    return text if found.login in mentioned_logins(text) or not text else f"@{found.login} {text}"


async def _log(
    visit: Visit, connection: Connection, made: AssignedDecision, detail: dict[str, object]
) -> None:
    await visit.log(
        LoggedAction.COMMENT,
        user_id=made.user_id,
        decision_id=made.decision_id,
        detail=detail,
        connection=connection,
    )
