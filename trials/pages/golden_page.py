"""The page of a golden set: its results, its items, and what adds and removes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit.suggestions import shown_decisions
from db.rows import Row
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from trials.pages.golden_sets import EXPECTATIONS, LEFT_OUT, log_recordings
from trials.pages.request_values import actor_of
from trials.pure.evaluation.figures import MEASURES
from trials.pure.evaluation.items import GoldenItem, GoldenRejected, GoldenSet, GoldenSource
from trials.pure.trial import TrialKind
from trials.store import golden_sets
from trials.store.golden_sources import agreed_decisions, edited_drafts, gather_items
from trials.store.trials import list_trials

ITEMS_SHOWN: Final = 50
SOURCES: Final[Mapping[str, str]] = {
    GoldenSource.DECISION: mark("decision"),
    GoldenSource.IMPORT: mark("imported"),
    GoldenSource.EDITED_DRAFT: mark("edited draft"),
}
"""Total."""
SHARES: Final[Mapping[str, str]] = {
    "precision": mark("Precision"),
    "recall": mark("Recall"),
    "accuracy": mark("Accuracy"),
}
DONE: Final[Mapping[str, str]] = {
    "added": mark("The items are in the set."),
    "none": mark("There was nothing new to add."),
    "removed": mark("The item is removed."),
}
"""What was just done, by the query's ``done``."""
assert SHARES.keys() <= MEASURES.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """An item as one person sees it.

    Attributes:
        row: the item's decision; None for an imported item, and when the decision is not stored any more.
        cover: categories that cover its text; empty: nothing does.
        folded: an imported text, whose categories are not known, for a person who covers some.
    """

    item: GoldenItem
    row: Row | None
    cover: tuple[str, ...]
    folded: bool


async def show_set(visit: Visit) -> Response:
    """The newest results and a page of items; the access log says who read them."""
    golden = await _set_of_path(visit)
    after = visit.query_id("after")
    pool = visit.store.pool
    try:
        items = await golden_sets.load_items(pool, golden, after=after, most=ITEMS_SHOWN + 1)
    except GoldenRejected as damaged:
        raise Refused(409, _("This set cannot be shown"), str(damaged)) from damaged
    shown = items[:ITEMS_SHOWN]
    detail = {"golden_set": golden.name, "items": len(shown)}
    await visit.log(LoggedAction.REVEAL, user_id=golden.user_id, detail=detail)
    return visit.render(
        "learn/golden_set.html",
        account=golden.user_id,
        tab="learn",
        golden=golden,
        runs=await list_trials(pool, golden.user_id, TrialKind.EVALUATION, set_id=golden.set_id),
        items=await _shown(visit, shown),
        following=shown[-1].item_id if len(items) > ITEMS_SHOWN else None,
        expectations=EXPECTATIONS,
        sources=SOURCES,
        shares=SHARES,
        done=DONE.get(visit.request.query_params.get("done", "")),
        left_out=_left_out(visit),
    )


async def add(visit: Visit) -> Response:
    """Add the decisions with agreed reviews, or with edited drafts."""
    golden = await _set_of_path(visit)
    pool, account = visit.store.pool, golden.user_id
    edited = visit.field("from") == "edited"
    labelled = await (edited_drafts(pool, account) if edited else agreed_decisions(pool, account))
    gathered = await gather_items(pool, account, labelled)
    await log_recordings(visit, golden, len(labelled))
    try:
        added = await golden_sets.add_items(pool, golden, gathered.items, actor_of(visit))
    except GoldenRejected as rejected:
        raise Refused(409, _("The items cannot be added"), str(rejected)) from rejected
    query = urlencode({"done": "added" if added else "none", **gathered.left_out})
    return visit.redirect("golden_set", query, account=account, set_id=golden.set_id)


async def remove(visit: Visit) -> Response:
    """Remove one item."""
    golden = await _set_of_path(visit)
    gone = await golden_sets.remove_items(visit.store.pool, golden, [visit.field("row")], actor_of(visit))
    if not gone:
        raise Refused(409, _("No such item"), _("It was removed before, or is of another set."))
    return visit.redirect("golden_set", "done=removed", account=golden.user_id, set_id=golden.set_id)


async def _set_of_path(visit: Visit) -> GoldenSet:
    missing = Refused(404, _("No such golden set"), _("Choose a golden set of this account."))
    found = await golden_sets.get_set(visit.store.pool, visit.path_id("set_id", missing))
    if found is None or found.user_id != account_of_path(visit):
        raise missing
    return found


async def _shown(visit: Visit, items: Sequence[GoldenItem]) -> list[ShownItem]:
    times = {each.decision_id: each.recorded_at for each in items if each.decision_id is not None}
    rows: Mapping[UUID, Row] = {}
    if times:
        rows = await visit.store.read_lists(lambda replica: shown_decisions(replica, times))
    return [_one(visit, each, rows.get(each.decision_id) if each.decision_id else None) for each in items]


def _one(visit: Visit, item: GoldenItem, row: Row | None) -> ShownItem:
    cover = cover_reason(visit.person.covered, row) if row is not None else ()
    return ShownItem(item=item, row=row, cover=cover, folded=row is None and bool(visit.person.covered))


def _left_out(visit: Visit) -> list[str]:
    """What was left out when items were added, in words."""
    found = []
    for key, why in LEFT_OUT.items():
        number = visit.request.query_params.get(key, "")
        if number.isdecimal() and len(number) < 7:
            count = int(number)
            one = _("Left out: %(num)s, because %(why)s")
            found.append(one % {"num": count, "why": _(why)})
    return found
