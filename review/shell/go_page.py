"""The command palette: finds pages, lists, a decision, accounts and people that the reader may see."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from db import account_versions
from db.access_log import LoggedAction
from db.audit import decision_list, subject_figures
from db.people import records
from review import wording
from review.access import Right
from review.http.visit import Visit
from review.languages import gettext as _
from review.shell.palette import QUERY_CHARS, Target, TargetGroup, by_group, searches, targets

SHOWN: Final = 5
"""Authors, accounts and people for one query."""
LEAST_CHARS: Final = 2
"""Fewer letters would find the authors of nearly every message."""
IDENTIFIER: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def show_go(visit: Visit) -> Response:
    """The places that fit ``q``; a part of the page when the palette asks."""
    query = visit.request.query_params.get("q", "").strip()[:QUERY_CHARS]
    found = list(targets(query, visit.may))
    if query:
        found += await _stored_targets(visit, query)
    if query and visit.may(Right.VIEW):
        found += searches(query)
    template = "shell/go_results.html" if visit.partial else "shell/go.html"
    return visit.render(template, query=query, groups=by_group(found))


async def _stored_targets(visit: Visit, query: str) -> list[Target]:
    """Decision, accounts and people of the database, by the reader's rights."""
    found = []
    if visit.may(Right.VIEW):
        if (named := IDENTIFIER.search(query.lower())) is not None:
            found += await _decision(visit, UUID(named[0]))
        found += await _authors(visit, query)
        found += await _accounts(visit, query)
    if visit.may(Right.ADMIN):
        found += await _people(visit, query)
    return found


async def _decision(visit: Visit, decision_id: UUID) -> list[Target]:
    """The decision, when it is of an account that the reader may see; the look-up is logged."""
    async with visit.store.reading() as connection:
        row = await decision_list.get_decision(connection, decision_id)
    if row is None or not visit.may(Right.VIEW, row["user_id"]):
        return []
    await visit.log(
        LoggedAction.SEARCH, user_id=row["user_id"], decision_id=decision_id, detail={"palette": True}
    )
    return [
        Target(
            group=TargetGroup.FOUND,
            title=_("Decision: %(reason)s") % {"reason": wording.reason_label(row["reason_code"])},
            detail=row["user_id"],
            url=visit.url("decision", decision_id=decision_id),
            icon="list-checks",
        )
    ]


async def _authors(visit: Visit, query: str) -> list[Target]:
    """The pages of authors whose id begins with this; a find is logged."""
    if len(query) < LEAST_CHARS:
        return []
    async with visit.store.reading() as connection:
        found = (await subject_figures.find_authors(connection, query, visit.accounts()))[:SHOWN]
    for user_id in sorted({author.user_id for author in found}):
        await visit.log(LoggedAction.SEARCH, user_id=user_id, detail={"palette": True, "author": query})
    return [
        Target(
            group=TargetGroup.FOUND,
            title=_("Author %(id)s") % {"id": author.id},
            detail=author.user_id,
            url=visit.url("author", account=author.user_id, author_ref=author.id),
            icon="user",
        )
        for author in found
    ]


async def _accounts(visit: Visit, query: str) -> list[Target]:
    found = await account_versions.list_accounts(
        visit.store.pool, visit.accounts(), search=query, after="", limit=SHOWN
    )
    places = []
    for each in found:
        places += [
            Target(group=TargetGroup.ACCOUNTS, title=each.user_id, detail=detail, url=url, icon=icon)
            for detail, url, icon in (
                (_("Home"), visit.url("owner_home", account=each.user_id), "store"),
                (_("Decisions"), "/decisions?" + urlencode({"account": each.user_id}), "funnel"),
                (_("Rules"), visit.url("rules", account=each.user_id), "shield"),
            )
        ]
    return places


async def _people(visit: Visit, query: str) -> list[Target]:
    async with visit.store.reading() as connection:
        found = await records.find_people(connection, visit.accounts(Right.ADMIN), query, limit=SHOWN)
    return [
        Target(
            group=TargetGroup.PEOPLE,
            title=each.name,
            detail=each.login,
            url=visit.url("person", person_id=each.person_id),
            icon="user",
        )
        for each in found
    ]
