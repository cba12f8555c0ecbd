"""Kept views, as far as somebody may know of them."""

from __future__ import annotations

from urllib.parse import parse_qs

from db import views
from db.decision_page import Connection
from db.views import View
from review.access import Right
from review.web import Visit


async def seen_by(visit: Visit, connection: Connection) -> tuple[View, ...]:
    """The person's own views and the shared ones, but none that names an account they may not see."""
    found = await views.seen_by(connection, visit.person.person_id, visit.accounts(Right.VIEW))
    return tuple(each for each in found if each.mine or _may_know(visit, each))


def _may_know(visit: Visit, view: View) -> bool:
    return all(visit.may(Right.VIEW, account) for account in parse_qs(view.query).get("account", ()))
