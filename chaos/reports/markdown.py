"""``python -m chaos.reports.markdown``: the tables of a stored report, for a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import orjson
import typer

from chaos.reports.report import FaultCount, Report, report_of


def main(
    report: Annotated[Path, typer.Argument(help="A report of make chaos, such as out/chaos.json.")],
) -> None:
    """Print counts, laws and faults as tables in Markdown."""
    typer.echo("\n".join(lines(report_of(orjson.loads(report.read_bytes())))))


def lines(report: Report) -> Iterator[str]:
    """Command, commit and three tables."""
    yield from ("```sh", report.command, "```", "")
    slices = f", {len(report.slices)} slices" if report.slices else ""
    yield f"Commit {report.commit}, {report.seconds:,.0f} s{slices}, load up to {report.load_average}."
    yield ""
    yield from _table(("what", "count"), ((name, f"{count:,}") for name, count in report.figures.items()))
    yield from _table(("law", "violations"), ((str(law), f"{n:,}") for law, n in report.violations.items()))
    header = ("fault", "planned", "happened", "recoveries", "p50 s", "p99 s", "longest s")
    yield from _table(header, (_fault(name, each) for name, each in report.faults.items()))


def _fault(name: str, found: FaultCount) -> tuple[str, ...]:
    counts = (name, f"{found.planned:,}", f"{found.happened:,}")
    times = found.recovery
    if times is None:
        return (*counts, "0", "", "", "")
    return (
        *counts,
        f"{times.faults:,}",
        *(f"{each:.1f}" for each in (times.p50_s, times.p99_s, times.max_s)),
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|---|{'---:|' * (len(header) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    typer.run(main)
