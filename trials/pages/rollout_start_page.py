"""The page that starts a rollout of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from db.account_settings.accounts import current_account
from review.accounts.account_changes import difference
from review.http.visit import Visit
from trials.pages.request_values import actor_of, candidate_named
from trials.pages.rollout_form import PRESET_TITLES, kinds_of, preset_values, read_form
from trials.pages.rollout_wording import ABOUT, MEASURES
from trials.pure.rollouts.bounds import Measure
from trials.pure.rollouts.plan import RolloutPresetName
from trials.pure.trial import TrialKind
from trials.store.candidates import SettingsCandidate, TrialRefused
from trials.store.rollout_steps import start_rollout
from trials.store.trials import list_trials
from worker.account_settings import AccountRejected, changed

NO_PROBLEMS: Final[Mapping[str, str]] = {}


async def show_start(visit: Visit) -> Response:
    """The form, filled with a preset."""
    chosen = visit.request.query_params.get("preset", "")
    preset = RolloutPresetName(chosen) if chosen in set(RolloutPresetName) else RolloutPresetName.USUAL
    return await _page(visit, await _candidate(visit), preset_values(preset), preset=preset)


async def start(visit: Visit) -> Response:
    """Start the rollout and lead to its page."""
    candidate = await _candidate(visit)
    filled = read_form(visit.field)
    values = {name: str(value) for name, value in visit.form.items()}
    if filled.plan is None:
        return await _page(visit, candidate, values, status=422, problems=filled.problems)
    actor = actor_of(visit)
    try:
        started = await start_rollout(visit.store.pool, candidate.candidate_id, filled.plan, actor)
    except (TrialRefused, AccountRejected) as refused:
        return await _page(visit, candidate, values, status=409, refused=str(refused))
    return visit.redirect("trial", "done=start", account=candidate.user_id, trial_id=started.trial_id)


async def _candidate(visit: Visit) -> SettingsCandidate:
    return await candidate_named(visit, visit.request.path_params["candidate_id"])


async def _page(
    visit: Visit,
    candidate: SettingsCandidate,
    values: Mapping[str, str],
    *,
    status: int = 200,
    preset: RolloutPresetName | None = None,
    problems: Mapping[str, str] = NO_PROBLEMS,
    refused: str = "",
) -> Response:
    account = candidate.user_id
    found = await list_trials(visit.store.pool, account, TrialKind.ROLLOUT, limit=1)
    running = next((each for each in found if each.running), None)
    in_force = await current_account(visit.store.pool, account)
    return visit.render(
        "learn/rollout_start.html",
        status=status,
        account=account,
        tab="learn",
        candidate=candidate,
        in_force=in_force.version,
        running=running,
        change=_change(in_force, candidate),
        values=values,
        preset=preset,
        presets=PRESET_TITLES,
        measures=[(each, MEASURES[each], ABOUT[each], kinds_of(each)) for each in Measure],
        problems=problems,
        refused=refused,
    )


def _change(in_force: Any, candidate: SettingsCandidate) -> Any:
    """What differs from the settings in force; None when this release cannot use the candidate."""
    try:
        return difference(in_force, changed(in_force, candidate.changes))
    except AccountRejected:
        return None
