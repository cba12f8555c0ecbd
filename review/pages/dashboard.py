"""The dashboard: what was decided and how it ran, in a range of time and in the one before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from starlette.responses import Response

from db import dashboard
from db.access_log import Action
from db.dashboard import Figures, Question
from review.access import Right
from review.figures import counting, figure_links, ranges
from review.figures.dashboard_view import view_of
from review.figures.drawings import Sketch
from review.figures.ranges import BadRange, Range
from review.figures.tiles import Tile
from review.reviewing.waiting import open_queues
from review.web import Visit
from worker.model import Scope


async def page(visit: Visit) -> Response:
    """The page; a range or a scope that cannot be used is said, and the last 24 hours are shown."""
    problem = ""
    try:
        chosen, question = asked(visit)
    except BadRange as bad:
        problem = str(bad)
        chosen = ranges.range_of({}, visit.now)
        question = question_of(visit, chosen, account=None, scope=None)
    found = await figures(visit, question)
    async with visit.store.reading() as connection:
        accounts = await dashboard.by_account(connection, question)
        queues = await open_queues(visit, connection)
        known = accounts
        if question.account is not None:
            known = await dashboard.by_account(
                connection, question_of(visit, chosen, account=None, scope=None)
            )
    kept = {"account": question.account or "", "scope": question.scope or ""}
    await visit.log(Action.FIGURES, user_id=question.account, detail=logged(chosen))
    return visit.render(
        "dashboard.html",
        status=400 if problem else 200,
        problem=problem,
        chosen=chosen,
        asked=visit.request.query_params,
        kept=kept,
        titles=ranges.TITLES,
        scopes=tuple(Scope),
        view=view_of(Sketch(found, chosen, kept)),
        found=found,
        accounts=accounts,
        queues=queues,
        known=known,
        of_account=_same_with(chosen, kept),
        decisions=lambda **filters: figure_links.of_range(chosen, **(kept | filters)),
        link=_link(chosen, kept),
    )


def asked(visit: Visit) -> tuple[Range, Question]:
    """What the URL asks for, restricted to what the person may see.

    Raises:
        BadRange: a value is not usable.
        Refused: 404, the account is not one of theirs.
    """
    values = {name: value.strip() for name, value in visit.request.query_params.items()}
    chosen = ranges.range_of(values, visit.now)
    scope, account = values.get("scope") or None, values.get("account") or None
    if scope is not None and scope not in list(Scope):
        raise BadRange(f"scope: expected one of {', '.join(Scope)}, got {scope[:40]!r}")
    if account is not None:
        visit.require(Right.VIEW, account)
    return chosen, question_of(visit, chosen, account=account, scope=scope)


def question_of(visit: Visit, chosen: Range, *, account: str | None, scope: str | None) -> Question:
    """Which decisions of a range are counted, as far as the person may see."""
    return Question(
        accounts=visit.accounts(Right.VIEW),
        account=account,
        scope=scope,
        since=chosen.since,
        until=chosen.until,
        step=chosen.step,
        back=chosen.back,
    )


async def figures(visit: Visit, question: Question) -> Figures:
    """The figures; hours that nobody has counted yet are counted now, as far as half a second reaches."""
    async with visit.store.reading() as connection:
        found = await dashboard.figures(connection, question, now=visit.now)
    if not (found.missing or found.missing_before):
        return found
    await counting.catch_up(visit.site)
    async with visit.store.reading() as connection:
        return await dashboard.figures(connection, question, now=visit.now)


def logged(chosen: Range) -> dict[str, str]:
    """What the access log keeps of a range."""
    return {"since": chosen.since.isoformat(), "until": chosen.until.isoformat()}


def _link(chosen: Range, kept: Mapping[str, str]) -> Callable[[Tile], str | None]:
    """The decisions behind a figure, where a filter of the list finds just these."""
    return lambda tile: (
        None if tile.filters is None else figure_links.of_range(chosen, **kept, **tile.filters)
    )


def _same_with(chosen: Range, kept: Mapping[str, str]) -> Callable[[str], str]:
    """This page for one account, with everything else as it is."""
    said = chosen.query | {name: value for name, value in kept.items() if value}
    return lambda account: "?" + urlencode(said | {"account": account})
