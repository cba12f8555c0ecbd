"""``hushgate trials rollouts``: a candidate decides a share of conversations, within bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.options import note_misspelt
from cli.output import emit, fail, print_message
from trials.commands.shared import actor, run_step
from trials.pages.rollout_wording import TITLES
from trials.pure.rollouts.bounds import (
    LEAST_DECISIONS,
    BoundRejected,
    Measure,
    RolloutFigures,
    compare_arms,
    parse_bound,
)
from trials.pure.rollouts.plan import Plan, plan_of
from trials.pure.statistics.sequential import PLANNED_UNITS
from trials.pure.trial import Trial, TrialKind
from trials.store import rollout_steps
from trials.store.rollouts import load_figures
from trials.store.trials import list_trials

app = typer.Typer(
    no_args_is_help=True,
    help="A candidate decides a share of an account's conversations: `start`, `step`, `return`, `finish`,"
    " `show`. A rollout that leaves its bounds is returned automatically.",
)
COLUMNS: Final = (
    "rollout_id", "user_id", "candidate_id", "state", "share", "stepped_at", "bounds", "least", "metric",
)  # fmt: skip
STEP_COLUMNS: Final = ("made_at", "kind", "share", "made_by", "automatic", "reason", "version")
ARM_COLUMNS: Final = ("measure", "live", "candidate", "live_decisions", "candidate_decisions")
RolloutId = Annotated[UUID, typer.Argument(help="The id of the rollout.")]
StepReason = Annotated[str, typer.Option("--reason", help="Why; stored with the step.")]
ShareOption = Annotated[float, typer.Option("--share", help="Share of the conversations, 0.001 to 1.")]


@app.command()
def start(
    candidate: Annotated[UUID, typer.Argument(help="The id of the candidate.")],
    share: ShareOption,
    bound: Annotated[
        list[str],
        typer.Option(
            "--bound",
            help="The candidate's largest figure: blocks<=0.2, or against the live settings blocks<=+0.05"
            " or latency<=x1.5. Measures: overturns, escalations, blocks, latency (ms), cost (USD).",
        ),
    ],
    reason: StepReason,
    least: Annotated[
        int, typer.Option("--least", help="Decisions before a bound is tested.")
    ] = LEAST_DECISIONS,
    metric: Annotated[Measure, typer.Option("--metric", help="What is compared.")] = Measure.OVERTURNS,
    planned: Annotated[
        int, typer.Option("--planned", help="Conversations at which the comparison is sharpest.")
    ] = PLANNED_UNITS,
) -> None:
    """Let a candidate decide a share of its account's conversations.

    For example:

        hushgate trials rollouts start ID --share 0.1 --bound "blocks<=+0.05" --bound "escalations<=x1.5"
            --metric escalations --reason "fewer escalations in the backtest"
    """
    bounds = tuple(map(_bound, bound))
    plan = Plan(share=share, bounds=bounds, least=least, metric=metric, planned=planned)
    started = run_step(lambda source: rollout_steps.start_rollout(source, candidate, plan, actor(reason)))
    _emit([started])


@app.command()
def step(rollout: RolloutId, share: ShareOption, reason: StepReason) -> None:
    """Change the share. A rollout that has left its bounds is returned instead, and the command fails."""
    stepped = run_step(lambda source: rollout_steps.step_rollout(source, rollout, share, actor(reason)))
    _emit([stepped])


@app.command("return")
def return_(rollout: RolloutId, reason: StepReason) -> None:
    """End a rollout: the settings in force decide every conversation again."""
    returned = run_step(lambda source: rollout_steps.return_rollout(source, rollout, actor(reason)))
    _emit([returned])


@app.command()
def finish(rollout: RolloutId, reason: StepReason) -> None:
    """Store the candidate as the next version of the settings, in force for every conversation."""
    version = run_step(lambda source: rollout_steps.finish_rollout(source, rollout, actor(reason)))
    emit([{"rollout_id": rollout, "version": version}], ("rollout_id", "version"))


@app.command()
def show(
    account: Annotated[str, typer.Argument(help="The account.")],
    steps: Annotated[bool, typer.Option("--steps", help="The steps of the newest rollout.")] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Both arms of the newest rollout.")] = False,
) -> None:
    """Print the rollouts of an account, or the steps or figures of the newest one."""
    found = run_step(lambda source: list_trials(source, account, TrialKind.ROLLOUT))
    if not (steps or figures):
        _emit(found)
        note_misspelt(found, account)
        return
    if not found:
        raise fail(f"account: expected one with a rollout, got {account}", code=ExitCode.NEGATIVE)
    newest = found[0]
    if steps:
        emit(({name: getattr(each, name) for name in STEP_COLUMNS} for each in newest.steps), STEP_COLUMNS)
        return
    if not newest.running:
        raise fail(f"rollout: expected one that runs, got one that is {newest.state}", code=ExitCode.NEGATIVE)
    measured = run_step(lambda source: load_figures(source, newest.trial_id, datetime.now(UTC)))
    emit([_arms(measure, measured) for measure in Measure], ARM_COLUMNS)
    print_message(_result(newest, measured))


def _emit(found: Iterable[Trial]) -> None:
    rows = ({"rollout_id": each.trial_id, **each.plan, **asdict(each)} for each in found)
    emit(({name: row[name] for name in COLUMNS} for row in rows), COLUMNS)


def _result(rollout: Trial, figures: RolloutFigures) -> str:
    """The metric in one line: difference, interval, and what it means."""
    plan = plan_of(rollout)
    found = compare_arms(plan.metric, figures, planned=plan.planned)
    if not math.isfinite(found.low):
        return f"{plan.metric}: {TITLES[found.verdict]}."
    return (
        f"{plan.metric}: candidate less live {found.difference:+.4g},"
        f" 95 % interval {found.low:+.4g} to {found.high:+.4g}. {TITLES[found.verdict]}."
    )


def _arms(measure: Measure, figures: RolloutFigures) -> dict[str, Any]:
    return {
        "measure": measure.value,
        "live": figures.live.figure(measure),
        "candidate": figures.candidate.figure(measure),
        "live_decisions": figures.live.counted(measure),
        "candidate_decisions": figures.candidate.counted(measure),
    }


def _bound(text: str) -> Any:
    try:
        return parse_bound(text)
    except BoundRejected as error:
        raise fail(str(error)) from None
