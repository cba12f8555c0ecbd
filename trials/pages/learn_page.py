"""The page "Learn" of an account: its candidates, suggestions, trials and golden sets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts.stored_versions import account_of_path
from review.http.visit import Visit
from trials.pages.golden_sets import load_golden
from trials.pages.request_values import candidate_named
from trials.pages.suggestions_page import load_suggested
from trials.pages.trial_page import SHOWN
from trials.pages.wording import KINDS, STATE_BADGES, STATES, STEPS, setting_titles
from trials.pure.replay.groups import DIFFERENCES
from trials.pure.trial import TrialKind
from trials.store.candidates import list_candidates, withdraw_candidate
from trials.store.shadows import MOST_RUNNING
from trials.store.trials import list_trials


async def load_trials(visit: Visit, account: str) -> Mapping[str, Any]:
    """The newest trials, with ``?kind=`` of this kind, and the candidates that a shadow may try."""
    asked, pool = visit.request.query_params.get("kind", ""), visit.store.pool
    kinds = (TrialKind(asked),) if asked in SHOWN else SHOWN
    found = await list_trials(pool, account, *kinds)
    shadows = await list_trials(pool, account, TrialKind.SHADOW)
    running = {each.candidate_id for each in shadows if each.running}
    startable = [
        (each, setting_titles(each.changes))
        for each in await list_candidates(pool, account)
        if each.withdrawn_at is None and each.candidate_id not in running
    ]
    return {
        "filled": bool(found or startable or asked),
        "trials": [
            (each, setting_titles(each.changes), sum(each.counts.get(group, 0) for group in DIFFERENCES))
            for each in found
        ],
        "kinds": KINDS,
        "shown_kinds": SHOWN,
        "states": STATES,
        "badges": STATE_BADGES,
        "steps": STEPS,
        "full": len(running) >= MOST_RUNNING,
        "most": MOST_RUNNING,
        "startable": startable,
    }


PARTS: Final[Mapping[str, Callable[[Visit, str], Awaitable[Mapping[str, Any]]]]] = {
    "learn/_suggestions.html": load_suggested,
    "learn/_trials.html": load_trials,
    "learn/_golden_sets.html": load_golden,
}
"""Templates in the order of the page, each with what loads its ``part``."""


async def show_learn(visit: Visit) -> Response:
    """The page: the candidates and every part."""
    account = account_of_path(visit)
    found = await list_candidates(visit.store.pool, account)
    parts = [(template, await load(visit, account)) for template, load in PARTS.items()]
    return visit.render(
        "learn/overview.html",
        account=account,
        candidates=[(each, setting_titles(each.changes)) for each in found],
        parts=parts,
        empty_page=not found and not any(part["filled"] for _template, part in parts),
        tab="learn",
        kind=visit.request.query_params.get("kind", ""),
    )


async def withdraw(visit: Visit) -> Response:
    """Withdraw a candidate."""
    found = await candidate_named(visit, visit.field("candidate"))
    logged = visit.entry(LoggedAction.SETTINGS, user_id=found.user_id, detail={"candidate": "withdrawn"})
    await withdraw_candidate(visit.store.pool, found.candidate_id, visit.now, logged=logged)
    return visit.redirect("learn", account=found.user_id)
