"""``hushgate trials shadow``: a candidate decides every new event beside the live settings, not acting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.output import emit, fail
from db.pool import Pool
from trials.commands.shared import actor, require_used, run_step
from trials.pure.replay.groups import group_counts
from trials.pure.trial import Trial, TrialKind
from trials.store import shadows
from trials.store.trials import get_trial, list_trials

app = typer.Typer(
    no_args_is_help=True,
    help="A candidate decides every new event of its account again, after the live settings, and never acts:"
    " `start`, `stop`, `show`, `list`.",
)
COLUMNS: Final = (
    "shadow_id", "candidate_id", "state", "started_by", "started_at", "reached_at", "usd_a_day", "usd",
    "ended_why",
)  # fmt: skip
GROUP_COLUMNS: Final = ("group", "decisions", "share")
ShadowId = Annotated[UUID, typer.Argument(help="The id of the shadow.")]
ShadowReason = Annotated[str, typer.Option("--reason", help="Why; stored with the shadow.")]


@app.command()
def start(
    candidate: Annotated[UUID, typer.Argument(help="The id of the candidate.")],
    reason: ShadowReason,
    usd_a_day: Annotated[
        float,
        typer.Option(
            "--usd-a-day", help="For answers that recordings lack, US dollars; 0: nothing is asked."
        ),
    ] = 0.0,
) -> None:
    """Let a candidate decide the new events of its account again; nothing of it is sent.

    For example:

        hushgate trials shadow start 01a20047-0dfa-71d7-8e88-c1d4329d1fb5 --reason "good in the backtest"
    """
    step = actor(reason)
    started = run_step(lambda source: shadows.start_shadow(source, candidate, step, usd_a_day=usd_a_day))
    _emit([started])


@app.command()
def stop(shadow: ShadowId, reason: ShadowReason) -> None:
    """End a shadow; its results stay."""
    _emit([run_step(lambda source: shadows.stop_shadow(source, shadow, actor(reason)))])


@app.command("list")
def list_(account: Annotated[str, typer.Argument(help="The account.")]) -> None:
    """Print the shadows of an account, the newest first."""

    async def load(source: Pool) -> Sequence[Trial]:
        await require_used(source, account)
        return await list_trials(source, account, TrialKind.SHADOW)

    _emit(run_step(load))


@app.command()
def show(shadow: ShadowId) -> None:
    """Print what a shadow has counted: unchanged decisions, differences by kind, and what was left out.

    `hushgate decisions list --shadow newly_stopped:CANDIDATE` prints the decisions of one kind.
    """
    found = run_step(lambda source: get_trial(source, shadow, TrialKind.SHADOW))
    if found is None:
        raise fail(f"id: no shadow {shadow}", code=ExitCode.NEGATIVE)
    total = sum(found.counts.values())
    rows = [
        {"group": each.name, "decisions": each.decisions, "share": each.share}
        for each in sorted(group_counts(found.counts, total), key=lambda each: -each.decisions)
    ]
    emit(rows, GROUP_COLUMNS)


def _emit(found: Iterable[Trial]) -> None:
    rows = []
    for each in found:
        row = {name: getattr(each, name) for name in COLUMNS[1:-1]}
        why = each.end.reason if each.end else None
        rows.append({"shadow_id": each.trial_id, **row, "ended_why": why})
    emit(rows, COLUMNS)
