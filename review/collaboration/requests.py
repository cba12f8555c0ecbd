"""The decision and the people that a change of comments or assignments names, checked."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from db.collaboration import colleagues
from db.collaboration.assignments import AssignedDecision
from db.collaboration.colleagues import Colleague
from db.connection import Connection
from db.people.records import Role
from db.reviews import queue_items
from review.access import Right
from review.decision.page import load_row
from review.http.visit import Refused, Visit
from review.languages import gettext as _


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
