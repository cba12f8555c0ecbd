"""``make soak``: hours of steady load with faults, and what grew meanwhile."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from chaos.reports.json_file import write_json
from chaos.soak.report import as_json, show
from chaos.soak.run import SoakPlan, soak

OUT: Final = Path("out/soak.json")

app = typer.Typer(add_completion=False)


@app.command()
def main(
    hours: Annotated[float, typer.Option(min=0.005, help="Length of the steady load.")] = 2.0,
    load: Annotated[float, typer.Option(min=0.05, max=1.0, help="Share of the measured capacity.")] = 0.6,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    faults: Annotated[int, typer.Option(min=0, help="Faults of each kind that processes survive.")] = 4,
    sample_s: Annotated[float, typer.Option(min=1, help="Seconds between two samples.")] = 30.0,
    seed: Annotated[int, typer.Option(help="Decides load and faults.")] = 7,
    out: Annotated[Path, typer.Option(help="The report as JSON.")] = OUT,
) -> None:
    """Measure the capacity, publish below it for hours under faults; exit code 1 when something grows."""
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    plan = SoakPlan(hours=hours, load=load, workers=workers, faults=faults, seed=seed, sample_s=sample_s)
    result = soak(plan, f"make soak ARGS={shlex.quote(shlex.join(sys.argv[1:]))}", console.print)
    write_json(out, as_json(result))
    raise typer.Exit(0 if show(result, console) else 1)


if __name__ == "__main__":
    app()
