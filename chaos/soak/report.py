"""What grew during a soak, as JSON and as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from chaos.reports.report import show as show_report
from chaos.soak.run import WARM_SHARE, SoakResult
from chaos.soak.samples import MOST_PREPARED, Sample
from chaos.soak.slopes import Slope, slope

KEPT: Final = re.compile(
    r"^(?:table |Postgres: database|Valkey: memory|Valkey: keys \{hushgate:(?:replies|escalations)\}:sent)"
)
"""What stays by intention until retention deletes it: rows, streams, marks of what was sent."""
LIMITS: Final = {MOST_PREPARED: 110.0}
"""What may rise to a limit of its own. psycopg keeps 100 prepared statements of a connection
(``prepared_max``), and closes the oldest with the statement that follows."""
PLOT_BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLOT_COLUMNS: Final = 24
LEAST_LOAD: Final = 0.95
"""Share of the planned events that a whole soak has published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """One figure over the soak.

    Attributes:
        kept: it grows by intention.
        per_1000: growth per 1,000 published events; None where no slope could be fitted.
        slope: None where there are too few samples.
    """

    name: str
    kept: bool
    points: tuple[tuple[float, float], ...]
    slope: Slope | None
    per_1000: float | None

    @property
    def leaks(self) -> bool:
        """Whether it grows and should not."""
        if self.name in LIMITS:
            return any(figure > LIMITS[self.name] for _, figure in self.points)
        return not self.kept and self.slope is not None and self.slope.grows

    @property
    def verdict(self) -> str:
        """What it does, in a word or a few."""
        if self.leaks:
            return "GROWS"
        if self.slope is None:
            return "too few samples"
        if self.kept:
            return "kept"
        return f"within {LIMITS[self.name]:.0f}" if self.name in LIMITS else "flat"


def grown(result: SoakResult) -> tuple[Grown, ...]:
    """Every figure, each after its own warm-up."""
    names = sorted({name for sample in result.samples for name in sample.figures})
    return tuple(_grown(name, result) for name in names)


def _grown(name: str, result: SoakResult) -> Grown:
    held = [each for each in result.samples if name in each.figures]
    warm_s = held[0].at_s + WARM_SHARE * result.plan.hours * 3_600
    points = tuple((each.at_s, float(each.figures[name])) for each in held if each.at_s >= warm_s)
    found = slope(points)
    per_1000 = None
    if found is not None and result.rate_per_s:
        per_1000 = found.per_hour / (3_600 * _published_per_s(result.samples)) * 1_000
    return Grown(name=name, kept=bool(KEPT.match(name)), points=points, slope=found, per_1000=per_1000)


def _published_per_s(samples: Sequence[Sample]) -> float:
    return max(samples[-1].published, 1) / max(samples[-1].at_s, 1.0)


def as_json(result: SoakResult) -> dict[str, Any]:
    """Everything, the samples included."""
    figures = grown(result)
    return {
        "plan": asdict(result.plan),
        "capacity_per_s": round(result.capacity_per_s, 1),
        "rate_per_s": result.rate_per_s,
        "seconds": round(result.seconds, 1),
        "leaks": [each.name for each in figures if each.leaks],
        "figures": [_figure_json(each) for each in figures],
        "chaos": result.report.json() if result.report else None,
    }


def _figure_json(each: Grown) -> dict[str, Any]:
    fitted = None if each.slope is None else asdict(each.slope)
    points = [(round(at), round(y, 1)) for at, y in each.points]
    return {"name": each.name, "verdict": each.verdict, "slope": fitted, "per_1000_events": each.per_1000} | {
        "points": points
    }


def show(result: SoakResult, console: Console) -> bool:
    """Print the tables; whether everything held."""
    figures = grown(result)
    table = Table("figure", "mean", "an hour", "95 % interval", "per 1,000 events", "course", "")
    for column in table.columns[1:5]:
        column.justify = "right"
    for each in figures:
        table.add_row(*_cells(each))
    console.print(table)
    if result.report:
        show_report(result.report, console)
    console.print(
        f"capacity {result.capacity_per_s:.1f} events/s,"
        f" load {result.rate_per_s}/s for {result.seconds:,.0f} s;"
        f" {sum(each.leaks for each in figures)} figures grow that should not"
    )
    report = result.report
    is_judged = any(each.slope is not None and not each.kept for each in figures)
    if report is None or report.interrupted or not is_judged or not _is_loaded(result):
        console.print(
            "not a whole soak: it was interrupted, too short to judge growth, or had too little load"
        )
        return False
    return not (report.total_violations or report.undemonstrated or any(each.leaks for each in figures))


def _is_loaded(result: SoakResult) -> bool:
    """Whether the planned events were published."""
    published = result.samples[-1].published if result.samples else 0
    return published >= LEAST_LOAD * result.plan.hours * 3_600 * result.rate_per_s


def _cells(each: Grown) -> Iterator[str]:
    yield each.name
    if each.slope is None:
        yield from ("", "", "", "", plot([y for _, y in each.points]), each.verdict)
        return
    yield f"{each.slope.mean:,.0f}"
    yield f"{each.slope.per_hour:+,.1f}"
    yield f"{each.slope.low:+,.1f} to {each.slope.high:+,.1f}"
    yield "" if each.per_1000 is None else f"{each.per_1000:+,.2f}"
    yield plot([y for _, y in each.points])
    yield f"[bold red]{each.verdict}[/]" if each.leaks else each.verdict


def plot(figures: Sequence[float]) -> str:
    """A line of at most ``PLOT_COLUMNS`` blocks from the smallest to the largest figure."""
    if not figures:
        return ""
    width = min(PLOT_COLUMNS, len(figures))
    cuts = [len(figures) * number // width for number in range(width + 1)]
    means = [fmean(figures[a:b]) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(
        PLOT_BLOCKS[min(len(PLOT_BLOCKS) - 1, int((each - low) / span * len(PLOT_BLOCKS)))] for each in means
    )
