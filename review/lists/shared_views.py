"""The saved views that a person may see."""

from __future__ import annotations

from urllib.parse import parse_qs

from db.audit import saved_views
from db.audit.saved_views import SavedView
from db.review_store import AsyncConnection
from review.access import Right
from review.http.visit import Visit


async def visible_views(visit: Visit, connection: AsyncConnection) -> tuple[SavedView, ...]:
    """The person's own views and the shared ones, without those on accounts the person may not see."""
    found = await saved_views.list_views(connection, visit.person.person_id, visit.accounts(Right.VIEW))
    return tuple(each for each in found if each.mine or _may_know(visit, each))


def _may_know(visit: Visit, view: SavedView) -> bool:
    return all(visit.may(Right.VIEW, account) for account in parse_qs(view.query).get("account", ()))
