"""Quality of one person's reviews: for that person, and for a lead one person at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.figures.agreement import ReviewSelection
from db.figures.reviewer_quality import QualityWeek, quality_weeks, reviewers_of
from db.reviews import queue_items
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.statistics.differences import Estimate, mean_difference, median, moments, share_difference
from worker.statistics.shares import Share, wilson

WEEKS: Final = 12
NEW_WEEKS: Final = 4
ENOUGH: Final = 10
"""Fewer readings have no share and no drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredShare:
    """A share of readings with its drift; None where there are too few."""

    total: int
    share: Share | None
    drift: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerQuality:
    """One person's reviews.

    Attributes:
        seconds: median time from opening a decision to its review; None of too few.
        pace: time in the newest weeks as a multiple of that before; None of too few.
        timed: reviews with a known time.
    """

    timed: int
    seconds: Estimate | None
    pace: Estimate | None
    golden: MeasuredShare
    second: MeasuredShare
    weeks: tuple[QualityWeek, ...]


async def show_own_quality(visit: Visit) -> Response:
    """The person's own page."""
    return await _page(visit, visit.person.person_id, visit.person.login, accounts=None, others=None)


async def show_reviewer(visit: Visit) -> Response:
    """The page of a lead: one reviewer, chosen by login, of the accounts that the lead leads."""
    accounts = visit.accounts(Right.LEAD)
    selected = await _selection(visit, accounts)
    known = await visit.store.read_lists(lambda replica: reviewers_of(replica, selected))
    login = visit.request.query_params.get("person", "")
    if not login:
        return await _page(visit, None, "", accounts=accounts, others=known)
    found = next((id_ for id_, name in known if name == login), None)
    if found is None:
        raise Refused(404, _("No such reviewer"), _("Choose a person who reviewed in the last 12 weeks."))
    return await _page(visit, found, login, accounts=accounts, others=known)


def reviewer_quality(weeks: Sequence[QualityWeek], newest: Sequence[QualityWeek]) -> ReviewerQuality:
    """The figures of some weeks; ``newest`` are those of them that are compared with the others."""
    older = [each for each in weeks if each not in newest]
    times = _seconds(weeks)
    return ReviewerQuality(
        timed=len(times),
        seconds=median(times),
        pace=_pace(_seconds(older), _seconds(newest)),
        golden=_measured([each.golden for each in older], [each.golden for each in newest]),
        second=_measured([each.second for each in older], [each.second for each in newest]),
        weeks=tuple(weeks),
    )


async def _page(
    visit: Visit,
    person_id: UUID | None,
    login: str,
    *,
    accounts: tuple[str, ...] | None,
    others: Sequence[tuple[UUID, str]] | None,
) -> Response:
    quality = counted_at = None
    if person_id is not None:
        chosen, selected = person_id, await _selection(visit, accounts)
        counted = await visit.site.reused_figures.get(
            ("quality", chosen, accounts, selected.hidden),
            visit.now,
            lambda: visit.store.read_lists(lambda replica: quality_weeks(replica, chosen, selected)),
        )
        weeks = counted.value
        counted_at = counted.at if counted.at != visit.now else None
        since = (visit.now - NEW_WEEKS * timedelta(days=7)).date()
        quality = reviewer_quality(weeks, [each for each in weeks if each.week >= since])
        await visit.log(LoggedAction.FIGURES, detail={"reviewer": login})
    return visit.render(
        "quality.html",
        quality=quality,
        counted_at=counted_at,
        login=login,
        others=None if others is None else [name for _id, name in others],
        weeks=WEEKS,
        new_weeks=NEW_WEEKS,
        enough=ENOUGH,
        median=median,
    )


async def _selection(visit: Visit, accounts: tuple[str, ...] | None) -> ReviewSelection:
    async with visit.store.reading() as connection:
        hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    since = visit.now - WEEKS * timedelta(days=7)
    return ReviewSelection(accounts=accounts, account=None, since=since, until=visit.now, hidden=hidden)


def _seconds(weeks: Sequence[QualityWeek]) -> list[float]:
    return [max(each, 0.1) for week in weeks for each in week.seconds]


def _pace(before: Sequence[float], after: Sequence[float]) -> Estimate | None:
    """The ratio of the geometric means: times are skewed, their logarithms are not."""
    if min(len(before), len(after)) < ENOUGH:
        return None
    found = mean_difference(moments([*map(math.log, before)]), moments([*map(math.log, after)]))
    return Estimate(value=math.exp(found.value), low=math.exp(found.low), high=math.exp(found.high))


def _measured(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> MeasuredShare:
    old, new, whole = _summed(before), _summed(after), _summed([*before, *after])
    enough = old is not None and new is not None and min(old.total, new.total) >= ENOUGH
    drift = share_difference(old, new) if enough and old is not None and new is not None else None
    total = whole.total if whole else 0
    return MeasuredShare(total=total, share=whole if total >= ENOUGH else None, drift=drift)


def _summed(counts: Sequence[tuple[int, int]]) -> Share | None:
    return wilson(sum(hits for hits, _total in counts), sum(total for _hits, total in counts))
