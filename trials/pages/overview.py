"""The page "Learn" of an account: its candidates, and one part for each way to try them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from trials.pages import rollout_wording
from trials.pages.golden_sets import load_golden
from trials.pages.shadows import load_shadows
from trials.pages.suggestions_page import load_suggested
from trials.pages.wording import TITLES, setting_titles
from trials.pure.replay.difference import DifferenceKind
from trials.pure.replay.groups import ReplayState
from trials.store import rollouts
from trials.store.backtests import Backtest, list_backtests
from trials.store.candidates import get_candidate, list_candidates, withdraw_candidate

PartLoader: TypeAlias = Callable[[Visit, str], Awaitable[Mapping[str, Any]]]
USUAL: Final = {*DifferenceKind, ReplayState.NEEDS_ANSWERS, ReplayState.NOT_RECORDED, ReplayState.ERASED}
"""Groups that the table of backtests has also without decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnPart:
    """One part of the page: a template, and the values that it shows as ``part``."""

    template: str
    load: PartLoader


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBacktest:
    """A backtest with the titles of its settings and its counts, of the groups in the table's order."""

    backtest: Backtest
    settings: tuple[str, ...]
    counts: tuple[int, ...]


async def load_backtests(visit: Visit, account: str) -> Mapping[str, Any]:
    """The newest backtests."""
    found = await list_backtests(visit.store.pool, account)
    groups = [each for each in TITLES if each in USUAL or any(tried.counts.get(each) for tried in found)]
    return {
        "groups": tuple(TITLES[each] for each in groups),
        "backtests": tuple(
            ShownBacktest(
                backtest=each,
                settings=setting_titles(each.changes),
                counts=tuple(int(each.counts.get(group, 0)) for group in groups),
            )
            for each in found
        ),
    }


async def load_rollouts(visit: Visit, account: str) -> Mapping[str, Any]:
    """The newest rollouts with their last steps."""
    found = await rollouts.list_rollouts(visit.store.pool, account)
    steps = {each.rollout_id: await rollouts.list_steps(visit.store.pool, each.rollout_id) for each in found}
    return {
        "states": rollout_wording.STATES,
        "badges": rollout_wording.STATE_BADGES,
        "kinds": rollout_wording.STEPS,
        "rollouts": [(each, next(reversed(steps[each.rollout_id]), None)) for each in found],
    }


PARTS: Final[tuple[LearnPart, ...]] = (
    LearnPart(template="learn/_suggestions.html", load=load_suggested),
    LearnPart(template="learn/_backtests.html", load=load_backtests),
    LearnPart(template="learn/_shadows.html", load=load_shadows),
    LearnPart(template="learn/_rollouts.html", load=load_rollouts),
    LearnPart(template="learn/_golden_sets.html", load=load_golden),
)
"""In the order of the page."""


async def show_learning(visit: Visit) -> Response:
    """The candidates and every part."""
    account = account_of_path(visit)
    found = await list_candidates(visit.store.pool, account)
    return visit.render(
        "learn/overview.html",
        account=account,
        candidates=[(each, setting_titles(each.changes)) for each in found],
        parts=[(each.template, await each.load(visit, account)) for each in PARTS],
        tab="learn",
    )


async def withdraw(visit: Visit) -> Response:
    """Withdraw a candidate."""
    account = account_of_path(visit)
    try:
        candidate_id = UUID(visit.field("candidate"))
    except ValueError as error:
        raise _no_candidate(422) from error
    found = await get_candidate(visit.store.pool, candidate_id)
    if found is None or found.user_id != account:
        raise _no_candidate(404)
    if await withdraw_candidate(visit.store.pool, candidate_id, visit.now) is not None:
        await visit.log(LoggedAction.SETTINGS, user_id=account, detail={"candidate": "withdrawn"})
    return visit.redirect("learn", account=account)


def _no_candidate(status: int) -> Refused:
    return Refused(status, _("No such candidate"), _("Choose a candidate of this account."))
