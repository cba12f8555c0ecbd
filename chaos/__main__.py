"""``make chaos``: break a fleet and see what it lost."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from chaos.kinds import FaultKind
from chaos.plan import Plan
from chaos.reports.json_file import write_json
from chaos.reports.report import Report, show
from chaos.reports.slices import Slices
from chaos.run import run

OUT: Final = Path("out/chaos.json")
SLICES: Final = Path("out/chaos-slices")

app = typer.Typer(add_completion=False)


@app.command()
def main(
    events: Annotated[
        int, typer.Option(min=50, help="Events to publish; further ones come while faults do.")
    ] = 3_000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 3,
    worker_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of workers.")] = 6,
    redis_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of Valkey.")] = 2,
    postgres_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of Postgres.")] = 2,
    others: Annotated[int, typer.Option(min=0, help="Faults of each other kind.")] = 1,
    only: Annotated[
        list[FaultKind] | None, typer.Option(help="Only these kinds, --others of each; repeatable.")
    ] = None,
    shards: Annotated[int, typer.Option(min=1, help="Streams that share the events.")] = 1,
    fault_s: Annotated[float, typer.Option(min=0.1, help="Longest duration of a fault.")] = 4.0,
    disk_mb: Annotated[
        int, typer.Option(help="Size of the servers' disk in memory; 0: none of its own, it is never full.")
    ] = 2_000,
    patience_s: Annotated[
        float, typer.Option(min=1, help="Without progress for so long it is stuck.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(help="Decides load and faults.")] = 7,
    out: Annotated[Path, typer.Option(help="The report as JSON.")] = OUT,
    slices: Annotated[
        int,
        typer.Option(
            min=1,
            help="Divide events and faults into so many runs, with the seed and those after it. Run again at"
            " the same commit without changed files, it goes on after the last finished one.",
        ),
    ] = 1,
    slice_dir: Annotated[  # noqa: ARG001  # read by Slices, from the options
        Path, typer.Option(help="The report of each slice: SEED.json.")
    ] = SLICES,
) -> None:
    """Run a fleet under faults and check every law.

    Exit code 1 when a law is broken, when the run was interrupted, when fewer events were accepted than
    planned, and when half of the planned faults of a kind (of five or more) were not seen to happen.
    """
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = f"make chaos ARGS={shlex.quote(shlex.join(sys.argv[1:]))}"
    if slices > 1:
        report = Slices(options=options_of(sys.argv[1:]), parse=options_of).run(command, console.print)
        end(report, out, console)
    kills = {
        FaultKind.WORKER_KILL: worker_kills,
        FaultKind.VALKEY_KILL: redis_kills,
        FaultKind.POSTGRES_KILL: postgres_kills,
    }
    counts = dict.fromkeys(only, others) if only else dict.fromkeys(FaultKind, others) | kills
    plan = Plan(
        events=events,
        workers=workers,
        seed=seed,
        counts={kind: count for kind, count in counts.items() if count},
        fault_s=fault_s,
        disk_mb=disk_mb,
        patience_s=patience_s,
        shards=shards,
    )
    end(run(plan, command, console.print), out, console)


def options_of(arguments: Sequence[str]) -> dict[str, Any]:
    """The options of a command, by their names in Python, defaults included."""
    return dict(typer.main.get_command(app).make_context("chaos", list(arguments)).params)


def end(report: Report, out: Path, console: Console) -> NoReturn:
    """Show and store a report; exit."""
    show(report, console)
    write_json(out, report.json())
    raise typer.Exit(0 if report.passes else 1)


if __name__ == "__main__":
    app()
