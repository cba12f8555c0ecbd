"""The result of a run as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from chaos.kinds import Law

SHOWN: Final = 5
"""Breaches of a law that the table shows; the JSON has more."""
STORED: Final = 200
FEW: Final = 5
LEAST_SEEN: Final = 0.5
"""A link may have no traffic while it is held; half of the faults of a kind must be seen nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How long entries that a fault hit needed after its end; ``took_s``: of each fault, ascending."""

    faults: int
    p50_s: float
    p99_s: float
    max_s: float
    took_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCount:
    """How often a kind was injected, and how often it was seen to happen."""

    planned: int
    injected: int
    happened: int
    recovery: Recovery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    """One slice of a long run; ``state``: finished, interrupted, or not run."""

    seed: int
    state: str
    seconds: float
    accepted: int
    faults: int
    violations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run.

    Attributes:
        command: repeats it.
        commit: of the code; ``+`` after it: with changed files.
        load_average: of the last five minutes at the end; of slices, the highest.
        figures: published, accepted, decided and the rest of the counts, by name.
        breaches: sentences by law; all laws are in it. A stored report has the first ones.
        violations: how many breaches, by law.
        grown: keys, connections and memory at the end; of slices, by seed.
        slices: of a long run.
        unpublished: planned events that were not accepted; of slices, the sum.
    """

    command: str
    commit: str
    seed: int
    interrupted: bool
    seconds: float
    load_average: float
    figures: Mapping[str, int]
    faults: Mapping[str, FaultCount]
    breaches: Mapping[Law, tuple[str, ...]]
    violations: Mapping[Law, int]
    grown: Mapping[str, Any]
    failed: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    slices: tuple[SliceResult, ...] = ()
    unpublished: int = 0

    @property
    def passes(self) -> bool:
        """Whether the whole load was published, the faults happened, and every law held."""
        is_whole = not self.interrupted and all(each.state == "finished" for each in self.slices)
        return is_whole and not (self.total_violations or self.undemonstrated or self.unpublished)

    @property
    def total_violations(self) -> int:
        """Breaches of all laws."""
        return sum(self.violations.values())

    @property
    def undemonstrated(self) -> tuple[str, ...]:
        """Kinds of faults that were seen in less than ``LEAST_SEEN`` of ``FEW`` or more planned ones."""
        return tuple(
            name
            for name, each in self.faults.items()
            if each.planned >= FEW and each.happened < LEAST_SEEN * each.planned
        )

    def json(self) -> dict[str, Any]:
        """As JSON."""
        shortened = {str(law): list(found[:STORED]) for law, found in self.breaches.items()}
        counts = {str(law): count for law, count in self.violations.items()}
        return asdict(self) | {"violations": counts, "breaches": shortened}


def report_of(body: Mapping[str, Any]) -> Report:
    """The report of ``Report.json``.

    Raises:
        KeyError: a field is missing.
        TypeError: the value is not a report.
        ValueError: a law is not known.
    """
    later = {"slices", "evidence", "unpublished"}
    values = {each.name: body[each.name] for each in fields(Report) if each.name not in later}
    return Report(
        **values
        | {
            "faults": {name: _fault_count(each) for name, each in body["faults"].items()},
            "breaches": {Law(law): tuple(found) for law, found in body["breaches"].items()},
            "violations": {Law(law): int(count) for law, count in body["violations"].items()},
            "failed": tuple(body["failed"]),
            "evidence": tuple(body.get("evidence", ())),
            "slices": tuple(SliceResult(**each) for each in body.get("slices", ())),
            "unpublished": body.get("unpublished", 0),
        }
    )


def _fault_count(body: Mapping[str, Any]) -> FaultCount:
    found = body["recovery"]
    return FaultCount(**{**body, "recovery": recovery(found["took_s"] if found else ())})


def recovery(took_s: Iterable[float]) -> Recovery | None:
    """The figures of one kind; None when nothing was being decided at its faults."""
    ordered = tuple(sorted(round(each, 2) for each in took_s))
    if not ordered:
        return None
    return Recovery(
        faults=len(ordered),
        p50_s=ordered[len(ordered) // 2],
        p99_s=ordered[int(len(ordered) * 0.99)],
        max_s=ordered[-1],
        took_s=ordered,
    )


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for table in (_figures(report), _faults(report)):
        console.print(table)
    if report.slices:
        console.print(_slices(report))
    else:
        console.print(f"grown: {dict(report.grown)}", soft_wrap=True)
    if report.undemonstrated:
        console.print(f"[bold red]too seldom seen to happen[/]: {', '.join(report.undemonstrated)}")
    if report.unpublished:
        count = f"{report.unpublished:,}"
        console.print(f"[bold red]load incomplete[/]: {count} planned events were not accepted")
    if report.failed:
        console.print(f"{len(report.failed)} failures of the tool or of processes: {report.failed[0][:400]}")
    for law, found in report.breaches.items():
        for sentence in found[:SHOWN]:
            console.print(f"[bold red]{law}[/]: {sentence}", soft_wrap=True)
    state = "interrupted, " if report.interrupted else ""
    code = report.commit or "no commit"
    console.print(
        f"{state}{report.total_violations} violations in {report.seconds:.0f} s, {code}: {report.command}",
        soft_wrap=True,
    )


def _figures(report: Report) -> Table:
    table = Table("what", "count", title=f"seed {report.seed}", title_justify="left")
    table.columns[1].justify = "right"
    for name, count in _lines(report):
        table.add_row(name, f"{count:,}")
    return table


def _lines(report: Report) -> Iterator[tuple[str, int]]:
    yield from report.figures.items()
    yield from ((str(law), count) for law, count in report.violations.items())


def _slices(report: Report) -> Table:
    table = Table("seed", "slice", "seconds", "accepted", "faults", "violations")
    for column in (table.columns[0], *table.columns[2:]):
        column.justify = "right"
    for each in report.slices:
        counts = (f"{each.seconds:,.0f}", f"{each.accepted:,}", f"{each.faults:,}", f"{each.violations:,}")
        table.add_row(str(each.seed), each.state, *counts)
    return table


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
