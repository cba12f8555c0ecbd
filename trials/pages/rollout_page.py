"""One rollout: its result in plain words, its bounds, its steps, and the next step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from trials.pages import rollout_wording
from trials.pages.plots import difference_plot
from trials.pages.rollout_form import read_share
from trials.pages.rollout_wording import RolloutResult, broken_lines, measure_lines, rollout_result
from trials.pages.wording import setting_titles
from trials.pure.rollouts.bounds import Measure, RolloutFigures
from trials.store.candidates import REASON_CHARS, Author, TrialRefused, get_candidate
from trials.store.rollout_steps import finish_rollout, return_rollout, step_rollout
from trials.store.rollouts import (
    Rollout,
    RolloutState,
    RolloutStep,
    get_rollout,
    list_steps,
    load_figures,
)
from worker.account_settings import AccountRejected

DONE: Final[Mapping[str, str]] = {
    "start": mark("The rollout has started. Workers hear of it within a second."),
    "step": mark("The share has changed."),
    "return": mark("The settings in force decide every conversation again."),
    "finish": mark("The candidate is in force for every conversation."),
    "returned": mark("The rollout had left its bounds, and was returned instead of the step."),
}


async def show_rollout(visit: Visit) -> Response:
    """The page."""
    rollout = await _rollout_of_path(visit)
    steps = await list_steps(visit.store.pool, rollout.rollout_id)
    figures = await _figures(visit, rollout, steps)
    candidate = await get_candidate(visit.store.pool, rollout.candidate_id)
    detail = {"rollout": str(rollout.rollout_id)}
    await visit.log(LoggedAction.FIGURES, user_id=rollout.user_id, detail=detail)
    result = _result(rollout, figures)
    return visit.render(
        "learn/rollout.html",
        account=rollout.user_id,
        tab="learn",
        rollout=rollout,
        candidate=candidate,
        settings=setting_titles(candidate.changes) if candidate else (),
        figures=figures,
        result=result,
        plot=difference_plot(result.comparison) if result and result.interval else "",
        lines=measure_lines(rollout, figures) if figures else (),
        steps=[(each, _result(rollout, each.figures), broken_lines(rollout, each.figures)) for each in steps],
        words=rollout_wording,
        done=DONE.get(visit.request.query_params.get("done", ""), ""),
        running=rollout.state == RolloutState.RUNNING,
    )


async def step(visit: Visit) -> Response:
    """Change the share."""
    problems: dict[str, str] = {}
    share = read_share(visit.field("share"), problems)
    if problems:
        raise Refused(422, _("This share cannot be used"), problems["share"])
    return await _take(
        visit, "step", lambda rollout, by: step_rollout(visit.store.pool, rollout.rollout_id, share, by)
    )


async def return_to_settings(visit: Visit) -> Response:
    """End the rollout: the settings in force decide again."""
    return await _take(
        visit, "return", lambda rollout, by: return_rollout(visit.store.pool, rollout.rollout_id, by)
    )


async def finish(visit: Visit) -> Response:
    """Put the candidate in force."""
    return await _take(
        visit, "finish", lambda rollout, by: finish_rollout(visit.store.pool, rollout.rollout_id, by)
    )


async def _take(visit: Visit, done: str, take: Callable[[Rollout, Author], Awaitable[object]]) -> Response:
    """Take a step and show the page; a rollout that had left its bounds is returned instead."""
    rollout = await _rollout_of_path(visit)
    reason = visit.field("reason").strip()
    if not 0 < len(reason) <= REASON_CHARS:
        text = _("Write a reason of 1 to %(most)s characters.") % {"most": REASON_CHARS}
        raise Refused(422, _("A reason is needed"), text)
    try:
        await take(rollout, Author(made_by=visit.person.login, reason=reason, now=visit.now))
    except (TrialRefused, AccountRejected) as refused:
        after = await get_rollout(visit.store.pool, rollout.rollout_id)
        if rollout.state != RolloutState.RUNNING or after is None or after.state == RolloutState.RUNNING:
            raise Refused(409, _("This step cannot be taken"), str(refused)) from refused
        done = "returned"
    return visit.redirect("rollout", f"done={done}", account=rollout.user_id, rollout_id=rollout.rollout_id)


async def _rollout_of_path(visit: Visit) -> Rollout:
    """The rollout in the page's address; 404 for one of another account."""
    missing = Refused(404, _("No such rollout"), _("Choose a rollout of this account."))
    found = await get_rollout(visit.store.pool, visit.path_id("rollout_id", missing))
    if found is None or found.user_id != account_of_path(visit):
        raise missing
    return found


async def _figures(visit: Visit, rollout: Rollout, steps: Sequence[RolloutStep]) -> RolloutFigures | None:
    """Since the last step, while it runs; before the last step, after it has ended."""
    if rollout.state == RolloutState.RUNNING:
        key = ("rollout", rollout.rollout_id, rollout.stepped_at)
        counted = await visit.site.reused_figures.get(
            key, visit.now, lambda: load_figures(visit.store.pool, rollout.rollout_id, visit.now)
        )
        return counted.value
    return steps[-1].figures if steps else None


def _result(rollout: Rollout, figures: RolloutFigures | None) -> RolloutResult | None:
    if figures is None or rollout.metric not in set(Measure):
        return None
    return rollout_result(Measure(rollout.metric), figures, rollout.planned)
