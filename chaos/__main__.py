"""``make chaos``: break a fleet and see what it lost."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer
from rich.console import Console

from chaos.kinds import FaultKind
from chaos.plan import Plan
from chaos.report import show
from chaos.run import run

OUT: Final = Path("out/chaos.json")


def main(
    events: Annotated[int, typer.Option(min=50, help="Events to publish.")] = 3_000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 3,
    worker_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of workers.")] = 6,
    redis_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of Valkey.")] = 2,
    postgres_kills: Annotated[int, typer.Option(min=0, help="SIGKILLs of Postgres.")] = 2,
    others: Annotated[int, typer.Option(min=0, help="Faults of each other kind.")] = 1,
    only: Annotated[
        list[FaultKind] | None, typer.Option(help="Only these kinds, --others of each; repeatable.")
    ] = None,
    fault_s: Annotated[float, typer.Option(min=0.1, help="Longest duration of a fault.")] = 4.0,
    disk_mb: Annotated[
        int, typer.Option(help="Size of the servers' disk in memory; 0: none of its own, it is never full.")
    ] = 2_000,
    patience_s: Annotated[
        float, typer.Option(min=1, help="Without progress for so long it is stuck.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(help="Decides load and faults.")] = 7,
    out: Annotated[Path, typer.Option(help="The report as JSON.")] = OUT,
) -> None:
    """Run a fleet under faults and check every law; exit code 1 when one is broken."""
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
    )
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = run(plan, f"make chaos ARGS={shlex.quote(shlex.join(sys.argv[1:]))}", console.print)
    show(report, console)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(orjson.dumps(report.json(), option=orjson.OPT_INDENT_2))
    raise typer.Exit(1 if report.violations else 0)


if __name__ == "__main__":
    typer.run(main)
