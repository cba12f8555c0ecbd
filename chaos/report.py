"""The result of a run as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from chaos.kinds import Law

SHOWN: Final = 5
"""Breaches of a law that the table shows; the JSON has more."""
STORED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How long entries that a fault hit needed after it, in seconds."""

    faults: int
    p50_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCount:
    """How often a kind was injected, and how often it was seen to happen."""

    planned: int
    injected: int
    happened: int
    recovery: Recovery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run.

    Attributes:
        command: repeats it.
        figures: published, accepted, decided and the rest of the counts, by name.
        breaches: sentences by law; all laws are in it.
        grown: keys, connections and memory at the end.
    """

    command: str
    seed: int
    interrupted: bool
    seconds: float
    load_average: float
    figures: Mapping[str, int]
    faults: Mapping[str, FaultCount]
    breaches: Mapping[Law, tuple[str, ...]]
    grown: Mapping[str, Any]
    failed: tuple[str, ...]

    @property
    def violations(self) -> int:
        """Breaches of all laws."""
        return sum(map(len, self.breaches.values()))

    def json(self) -> dict[str, Any]:
        """As JSON."""
        shortened = {str(law): list(found[:STORED]) for law, found in self.breaches.items()}
        counts = {str(law): len(found) for law, found in self.breaches.items()}
        return asdict(self) | {"violations": counts, "breaches": shortened}


def recovery(took_s: list[float]) -> Recovery | None:
    """The figures of one kind; None when nothing was being decided at its faults."""
    if not took_s:
        return None
    ordered = sorted(took_s)
    return Recovery(
        faults=len(ordered),
        p50_s=round(ordered[len(ordered) // 2], 2),
        p99_s=round(ordered[int(len(ordered) * 0.99)], 2),
        max_s=round(ordered[-1], 2),
    )


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for table in (_figures(report), _faults(report)):
        console.print(table)
    console.print(f"grown: {dict(report.grown)}", soft_wrap=True)
    for law, found in report.breaches.items():
        for sentence in found[:SHOWN]:
            console.print(f"[bold red]{law}[/]: {sentence}", soft_wrap=True)
    state = "interrupted, " if report.interrupted else ""
    console.print(f"{state}{report.violations} violations in {report.seconds:.0f} s: {report.command}")


def _figures(report: Report) -> Table:
    table = Table("what", "count", title=f"seed {report.seed}", title_justify="left")
    table.columns[1].justify = "right"
    for name, count in _lines(report):
        table.add_row(name, f"{count:,}")
    return table


def _lines(report: Report) -> Iterator[tuple[str, int]]:
    yield from report.figures.items()
    yield from ((str(law), len(found)) for law, found in report.breaches.items())


def _faults(report: Report) -> Table:
    table = Table("fault", "planned", "injected", "happened", "recovery p50 s", "p99 s", "max s")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, each in report.faults.items():
        counts = (f"{each.planned:,}", f"{each.injected:,}", f"{each.happened:,}")
        found = each.recovery
        times = ("", "", "") if found is None else (f"{found.p50_s}", f"{found.p99_s}", f"{found.max_s}")
        table.add_row(name, *counts, *times)
    return table
