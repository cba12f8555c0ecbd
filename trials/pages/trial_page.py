"""The page of one trial: what it tries, what came of it, its steps, and the next one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts.account_changes import AccountDifference, difference
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from trials.pages import rollout_wording
from trials.pages.examples import load_examples
from trials.pages.request_values import trial_of_path
from trials.pages.rollout_page import load_rollout
from trials.pages.wording import (
    KINDS,
    MEANINGS,
    NOT_MADE,
    STATE_BADGES,
    STATES,
    STEPS,
    TITLES,
    setting_titles,
)
from trials.pure.replay.difference import DifferenceKind
from trials.pure.replay.groups import DIFFERENCES, FOUND, GroupCount, group_counts
from trials.pure.trial import Trial, TrialKind
from trials.store.candidates import base_account, checked_account
from worker.account_settings import AccountRejected
from worker.model import Account

PATIENCE_S: Final = 1.0
"""For settings and examples together, as in ``trials.pages.change_preview``."""
SHOWN: Final = (TrialKind.BACKTEST, TrialKind.SHADOW, TrialKind.ROLLOUT)
"""Evaluations are on the page of their golden set."""
DONE: Final[Mapping[str, str]] = {
    "start": mark("The rollout has started. Workers hear of it within a second."),
    "step": mark("The share has changed."),
    "return": mark("The settings in force decide every conversation again."),
    "finish": mark("The candidate is in force for every conversation."),
    "returned": mark("The rollout had left its bounds, and was returned instead of the step."),
}
"""What was just done, by the query's ``done``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSettings:
    """What a trial tries.

    Attributes:
        account: None: this release cannot use the settings, or not in time; ``problem`` says why.
        change: from the version that the changes were made from; None when it is not known.
    """

    account: Account | None = None
    change: AccountDifference | None = None
    problem: str = ""


async def show_trial(visit: Visit) -> Response:
    """The page; without texts for people who may not read them."""
    return await render_trial(visit, await trial_of_path(visit, *SHOWN))


async def render_trial(visit: Visit, trial: Trial, *, revealed: UUID | None = None) -> Response:
    """The page, with the texts of one covered example. The access log says who saw what."""
    until_s = time.monotonic() + PATIENCE_S
    tried = await shown_settings(visit, trial)
    values: dict[str, Any] = {"examples": None, "measured": ()}
    if trial.kind == TrialKind.BACKTEST:
        values["examples"] = await load_examples(
            visit, trial, trial.examples, tried.account, until_s=until_s, revealed=revealed
        )
    else:
        detail = {trial.kind: str(trial.trial_id)}
        await visit.log(LoggedAction.FIGURES, user_id=trial.user_id, detail=detail)
        if trial.kind == TrialKind.ROLLOUT:
            values |= await load_rollout(visit, trial)
    return visit.render(
        "learn/trial.html",
        account=trial.user_id,
        tab="learn",
        trial=trial,
        kinds=KINDS,
        states=STATES,
        badges=STATE_BADGES,
        step_names=STEPS,
        settings=tuple(zip(setting_titles(trial.changes), trial.changes.values(), strict=True)),
        tried=tried,
        groups=shown_groups(trial),
        titles=TITLES,
        meanings=MEANINGS,
        not_made=NOT_MADE,
        words=rollout_wording,
        done=DONE.get(visit.request.query_params.get("done", ""), ""),
        **values,
    )


async def reveal_example(visit: Visit) -> Response:
    """The texts of one covered example; htmx gets that example, others the page."""
    trial = await trial_of_path(visit, TrialKind.BACKTEST)
    missing = Refused(404, _("No such example"), _("Choose an example of this backtest."))
    decision_id = visit.path_id("decision_id", missing)
    chosen = [each for each in trial.examples if each["decision_id"] == str(decision_id)]
    if not chosen:
        raise missing
    if not visit.partial:
        return await render_trial(visit, trial, revealed=decision_id)
    until_s = time.monotonic() + PATIENCE_S
    tried = await shown_settings(visit, trial)
    found = await load_examples(visit, trial, chosen, tried.account, until_s=until_s, revealed=decision_id)
    return visit.render(
        "learn/_backtest_example.html",
        account=trial.user_id,
        trial=trial,
        shown=next(iter(found.shown), None),
        examples=found,
        tried=tried,
        not_made=NOT_MADE,
        titles=TITLES,
    )


async def shown_settings(visit: Visit, trial: Trial) -> ShownSettings:
    """The settings of a trial as this release has them."""
    try:
        base = await base_account(visit.store.pool, trial.user_id, trial.base_version)
    except AccountRejected:
        problem = _("Version %(version)s of the settings, which the changes were made from, is gone.")
        return ShownSettings(problem=problem % {"version": trial.base_version})
    try:
        async with asyncio.timeout(PATIENCE_S):
            account = await asyncio.to_thread(checked_account, base, trial.changes)
    except AccountRejected as rejected:
        return ShownSettings(problem=str(rejected)[:1000])
    except TimeoutError:
        return ShownSettings(problem=_("Checking these rules takes too long for a page."))
    return ShownSettings(account=account, change=difference(base, account))


def shown_groups(trial: Trial) -> tuple[tuple[GroupCount, str], ...]:
    """The groups of a backtest or shadow, each with a link to its decisions, if they are stored.

    Those of differences, equal decisions and needed answers also without decisions.
    """
    if trial.kind == TrialKind.ROLLOUT:
        return ()
    counts = group_counts(trial.counts, trial.done, always={*FOUND, DifferenceKind.UNCHANGED})
    return tuple((each, _decisions_of(trial, each)) for each in counts)


def _decisions_of(trial: Trial, group: GroupCount) -> str:
    if trial.kind != TrialKind.SHADOW or group.name not in DIFFERENCES or not group.decisions:
        return ""
    query = {"since": "all", "account": trial.user_id, "shadow": f"{group.name}:{trial.candidate_id}"}
    return f"/decisions?{urlencode(query)}"
