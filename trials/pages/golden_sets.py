"""Golden sets on the page Learn, and adding a decision to one from its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.reviews import exchanges
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.queues import review_pages
from trials.pages.request_values import actor_of
from trials.pure.evaluation.items import Expected, GoldenLabel, GoldenRejected, GoldenSet
from trials.store import golden_sets
from trials.store.golden_sources import LabelledDecision, agreed_decisions, gather_items
from trials.store.trials import newest_evaluations

EXPECTATIONS: Final[Mapping[str, str]] = {
    Expected.ANSWER: mark("May be answered"),
    Expected.SILENT: mark("Must not be answered"),
}
"""Total."""
LEFT_OUT: Final[Mapping[str, str]] = {
    "no_agreement": mark("its reviews do not agree yet"),
    "erased": mark("its author was erased"),
    "not_recorded": mark("it has no recording"),
    "unreadable": mark("its recording cannot be read"),
    "no_message": mark("it is not about a new message"),
    "by_state": mark("it ended for a reason that is not in its message"),
    "unknown": mark("it is not stored"),
}
"""Why a decision cannot be an item; total."""


async def load_golden(visit: Visit, account: str) -> Mapping[str, Any]:
    """What the part of the page Learn shows: the sets with their newest results."""
    found = await golden_sets.list_sets(visit.store.pool, account)
    newest = {each.set_id: each for each in await newest_evaluations(visit.store.pool, account)}
    return {"filled": bool(found), "golden": [(each, newest.get(each.set_id)) for each in found]}


async def create(visit: Visit) -> Response:
    """Create a set and lead to its page."""
    account = account_of_path(visit)
    name, purpose = visit.field("name"), visit.field("purpose")
    try:
        made = await golden_sets.create_set(visit.store.pool, account, name, purpose, actor_of(visit))
    except GoldenRejected as rejected:
        raise Refused(422, _("This set cannot be created"), str(rejected)) from rejected
    return visit.redirect("golden_set", account=account, set_id=made.set_id)


async def add_decision(visit: Visit) -> Response:
    """Add a decision to a set of its account, with a label or with what its reviews agree about."""
    decision_id = visit.path_id("decision_id", review_pages.NOT_FOUND)
    async with visit.store.reading() as connection:
        subject = await exchanges.load_subject(connection, decision_id)
    if subject is None:
        raise review_pages.NOT_FOUND
    visit.require(Right.LEAD, subject.user_id)
    golden = await _chosen_set(visit, subject.user_id)
    labelled = await _labelled(visit, subject.user_id, decision_id)
    gathered = await gather_items(visit.store.pool, subject.user_id, labelled)
    left_out = next(iter(gathered.left_out), "") if labelled else "no_agreement"
    if left_out:
        raise Refused(409, _("This decision cannot be added"), _(LEFT_OUT[left_out]))
    await log_recordings(visit, golden, 1)
    try:
        await golden_sets.add_items(visit.store.pool, golden, gathered.items, actor_of(visit))
    except GoldenRejected as rejected:
        raise Refused(409, _("This decision cannot be added"), str(rejected)) from rejected
    return visit.redirect("golden_set", "done=added", account=subject.user_id, set_id=golden.set_id)


async def log_recordings(visit: Visit, golden: GoldenSet, decisions: int) -> None:
    """Write to the access log whose recordings became items."""
    detail = {"golden_set": golden.name, "items": decisions}
    await visit.log(LoggedAction.REVEAL, user_id=golden.user_id, detail=detail)


async def _chosen_set(visit: Visit, account: str) -> GoldenSet:
    missing = Refused(422, _("No such golden set"), _("Choose a golden set of this account."))
    if (set_id := visit.field_id("set")) is None:
        raise Refused(400, missing.title, missing.text)
    found = await golden_sets.get_set(visit.store.pool, set_id)
    if found is None or found.user_id != account:
        raise missing
    return found


async def _labelled(visit: Visit, account: str, decision_id: UUID) -> tuple[LabelledDecision, ...]:
    expected, by = visit.field("expected"), visit.person.login
    if expected in set(Expected):
        label = GoldenLabel(expected=Expected(expected), labelled_by=by)
        return (LabelledDecision(decision_id=decision_id, labelled_by=by, label=label),)
    if expected:
        raise Refused(422, _("This decision cannot be added"), _("Choose a label of the list."))
    return await agreed_decisions(visit.store.pool, account, (decision_id,))
