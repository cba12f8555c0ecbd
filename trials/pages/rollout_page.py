"""A rollout on its page: its result, and the next step: another share, the end, or in force."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from review.http.visit import Refused, Visit
from review.languages import gettext as _
from trials.pages.plots import difference_plot
from trials.pages.request_values import actor_with_reason, trial_of_path
from trials.pages.rollout_form import read_share
from trials.pages.rollout_wording import broken_lines, measure_lines, rollout_result
from trials.pure.rollouts.bounds import RolloutFigures, parse_figures
from trials.pure.rollouts.plan import plan_of
from trials.pure.trial import Trial, TrialKind
from trials.store.candidates import Actor, TrialRefused
from trials.store.rollout_steps import finish_rollout, return_rollout, step_rollout
from trials.store.rollouts import load_figures
from trials.store.trials import get_trial
from worker.account_settings import AccountRejected


async def load_rollout(visit: Visit, rollout: Trial) -> dict[str, Any]:
    """What the page of a rollout shows: its figures, the result, and what each step was measured at."""
    figures = await _figures(visit, rollout)
    result = rollout_result(rollout, figures) if figures else None
    measured = [parse_figures(each.figures) if each.figures else None for each in rollout.steps]
    return {
        "figures": figures,
        "metric": plan_of(rollout).metric,
        "least": plan_of(rollout).least,
        "result": result,
        "plot": difference_plot(result.comparison) if result and result.interval else "",
        "lines": measure_lines(rollout, figures) if figures else (),
        "measured": [
            (rollout_result(rollout, each), broken_lines(rollout, each)) if each else (None, ())
            for each in measured
        ],
    }


async def _figures(visit: Visit, rollout: Trial) -> RolloutFigures | None:
    """Figures since the last step of a running rollout; of an ended one from before its last step."""
    if rollout.running:
        key = ("rollout", rollout.trial_id, rollout.stepped_at)
        counted = await visit.site.reused_figures.get(
            key, visit.now, lambda: load_figures(visit.store.pool, rollout.trial_id, visit.now)
        )
        return counted.value
    last = rollout.steps[-1].figures if rollout.steps else None
    return parse_figures(last) if last else None


async def step(visit: Visit) -> Response:
    """Change the share."""
    problems: dict[str, str] = {}
    share = read_share(visit.field("share"), problems)
    if problems:
        raise Refused(422, _("This share cannot be used"), problems["share"])
    return await _take(
        visit, "step", lambda rollout, by: step_rollout(visit.store.pool, rollout.trial_id, share, by)
    )


async def return_to_settings(visit: Visit) -> Response:
    """End the rollout: the settings in force decide again."""
    return await _take(
        visit, "return", lambda rollout, by: return_rollout(visit.store.pool, rollout.trial_id, by)
    )


async def finish(visit: Visit) -> Response:
    """Put the candidate in force."""
    return await _take(
        visit, "finish", lambda rollout, by: finish_rollout(visit.store.pool, rollout.trial_id, by)
    )


async def _take(visit: Visit, done: str, take: Callable[[Trial, Actor], Awaitable[object]]) -> Response:
    """Take a step and show the page; a rollout that had left its bounds is returned instead."""
    rollout = await trial_of_path(visit, TrialKind.ROLLOUT)
    try:
        await take(rollout, actor_with_reason(visit))
    except (TrialRefused, AccountRejected) as refused:
        after = await get_trial(visit.store.pool, rollout.trial_id)
        if not rollout.running or after is None or after.running:
            raise Refused(409, _("This step cannot be taken"), str(refused)) from refused
        done = "returned"
    return visit.redirect("trial", f"done={done}", account=rollout.user_id, trial_id=rollout.trial_id)
