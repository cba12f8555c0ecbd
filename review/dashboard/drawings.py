"""The dashboard's plots, each with its figures as a table that links to the decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from db.figures.dashboard import DashboardFigures
from db.figures.histograms import CONFIDENCE_BINS, SpreadKind, middle_ms
from review.dashboard import figure_links, plots
from review.dashboard.plots import Plot, PlotData, Series
from review.dashboard.ranges import DAY, Range
from review.dashboard.scales import duration, span, time_marks
from review.dashboard.summary import PERCENTILES
from review.wording import DECISION_LABELS, reason_label
from worker.reasons import BLOCKED, FAILED, FAILURE_FAMILIES, Reason, ReasonFamily, reasons_of

PlotRow: TypeAlias = Mapping[str, Any]
FAILURES: Final = {
    ReasonFamily.MODERATION_FAILED: "Moderation",
    ReasonFamily.MODEL_FAILED: "Model",
    ReasonFamily.TOO_LATE: "Too late",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table; ``href`` links to the decisions counted in it."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotTable:
    """A plot and the same figures as a table."""

    plot: Plot
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class DashboardPlots:
    """Draws the figures of one range.

    Args:
        kept: the filters that every link contains: account and scope.
    """

    def __init__(self, found: DashboardFigures, chosen: Range, kept: Mapping[str, str]) -> None:
        self.found = found
        self.chosen = chosen
        self.kept = dict(kept)
        self.starts = chosen.steps
        self.names = tuple(span(start, chosen.step) for start in self.starts)
        self.marks = time_marks(self.starts)

    def link(self, place: int, **filters: str | None) -> str:
        """The link to the decisions of one step."""
        start = self.starts[place]
        until = min(start + self.chosen.step, self.chosen.until)
        return figure_links.decisions_link(start, until, **self.kept, **filters)

    def decisions(self) -> PlotTable:
        """Bars of decisions by kind."""
        counted = count_by(self.found.counts, lambda row: row["decision"])
        series = tuple(
            Series(name=title, values=tuple(counted[start, decision] for start in self.starts))
            for decision, title in DECISION_LABELS.items()
        )
        total = sum(counted.values())
        sheet = self._sheet("decisions", "Decisions", f"{total} decisions, stacked by decision", series)
        cells = [
            tuple(
                Cell(text=str(counted[start, decision]), href=self.link(place, decision=decision))
                for decision in DECISION_LABELS
            )
            for place, start in enumerate(self.starts)
        ]
        return self._steps(plots.stacked(sheet), cells)

    def failures(self) -> PlotTable:
        """Bars of silent failures by family."""
        rows = [row for row in self.found.counts if row["reason_code"] in FAILED]
        counted = count_by(rows, lambda row: Reason(row["reason_code"]).spec.family)
        series = tuple(
            Series(name=FAILURES[family], values=tuple(counted[start, family] for start in self.starts))
            for family in FAILURE_FAMILIES
        )
        text = f"{sum(counted.values())} decisions without a reply because of a failure"
        sheet = self._sheet("failures", "Silent failures", text, series)
        reasons = {family: ",".join(reasons_of(family)) for family in FAILURE_FAMILIES}
        cells = [
            tuple(
                Cell(text=str(counted[start, family]), href=self.link(place, reason=reasons[family]))
                for family in FAILURE_FAMILIES
            )
            for place, start in enumerate(self.starts)
        ]
        return self._steps(plots.stacked(sheet), cells)

    def blocks(self) -> PlotTable:
        """Bars of blocks per UTC day, for at least a week."""
        rows = [{**row, "step": row["day"]} for row in self.found.days]
        counted = count_by(rows, lambda row: row["reason_code"])
        until = self.chosen.until
        first = min(until - 6 * DAY, self.chosen.since).replace(hour=0, minute=0, second=0, microsecond=0)
        days = tuple(first + number * DAY for number in range((until - first) // DAY + 1))
        series = tuple(
            Series(name=reason_label(reason), values=tuple(counted[start, reason] for start in days))
            for reason in BLOCKED
        )
        sheet = PlotData(
            key="blocks",
            title="Blocks per day",
            text=f"{sum(counted.values())} messages and drafts that a rule or moderation flagged",
            steps=tuple(span(start, DAY) for start in days),
            marks=time_marks(days),
            series=series,
            open=self.chosen.until - days[-1] < DAY,
        )
        rows_of_cells = tuple(
            (
                Cell(text=span(start, DAY)),
                *(
                    Cell(
                        text=str(counted[start, reason]),
                        href=figure_links.decisions_link(start, start + DAY, **self.kept, reason=reason),
                    )
                    for reason in BLOCKED
                ),
            )
            for start in days
        )
        heads = ("Day, UTC", *(each.name for each in series))
        return PlotTable(plot=plots.stacked(sheet), heads=heads, rows=rows_of_cells)

    def paces(self, kind: SpreadKind, title: str, text: str) -> PlotTable:
        """Lines of the percentiles of a time measure."""
        by_step = {row["step"]: row for row in self.found.paces if row["kind"] == kind}
        series = tuple(
            Series(
                name=name,
                values=tuple(
                    middle_ms(by_step[start][name]) if start in by_step else None for start in self.starts
                ),
            )
            for name in PERCENTILES
        )
        sheet = self._sheet(str(kind), title, f"Percentiles {text}, on a logarithmic axis", series)
        cells = [
            tuple(Cell(text="–" if value is None else duration(value)) for value in values)
            for values in zip(*(each.values for each in series), strict=True)
        ]
        return self._steps(plots.lines(sheet), cells)

    def confidence(self) -> PlotTable:
        """Bars of assessed drafts by confidence."""
        counted: Counter[tuple[int, str]] = Counter()
        for row in self.found.spreads:
            if row["kind"] == SpreadKind.CONFIDENCE:
                counted[row["bin"], row["decision"]] += row["events"]
        bounds = [
            (number / CONFIDENCE_BINS, (number + 1) / CONFIDENCE_BINS) for number in range(CONFIDENCE_BINS)
        ]
        names = tuple(f"{low:.2f}\N{EN DASH}{high:.2f}" for low, high in bounds)
        sheet = PlotData(
            key="confidence",
            title="Confidence",
            text="Assessed drafts by confidence, stacked by decision",
            steps=names,
            marks=(*((place, f"{bounds[place][0]:.2f}") for place in (0, 5, 10, 15)), (19, "1.00")),
            series=tuple(
                Series(name=title, values=tuple(counted[place, decision] for place in range(CONFIDENCE_BINS)))
                for decision, title in DECISION_LABELS.items()
            ),
        )
        rows = tuple(
            (
                Cell(text=names[place]),
                *(
                    Cell(text=str(counted[place, decision]), href=self._band(bounds[place], decision))
                    for decision in DECISION_LABELS
                ),
            )
            for place in range(CONFIDENCE_BINS)
        )
        return PlotTable(
            plot=plots.stacked(sheet), heads=("Confidence", *DECISION_LABELS.values()), rows=rows
        )

    def _band(self, bounds: tuple[float, float], decision: str) -> str:
        low, high = (f"{each:g}" for each in bounds)
        return figure_links.range_link(
            self.chosen, **self.kept, decision=decision, confidence_from=low, confidence_to=high
        )

    def _sheet(self, key: str, title: str, text: str, series: tuple[Series, ...]) -> PlotData:
        step = self.chosen.step
        return PlotData(
            key=key,
            title=f"{title} per {_length(step)}",
            text=text,
            steps=self.names,
            marks=self.marks,
            series=series,
            open=self.chosen.until - self.starts[-1] < step,
        )

    def _steps(self, plot: Plot, cells: Iterable[tuple[Cell, ...]]) -> PlotTable:
        heads = ("Time, UTC", *(each.name for each in plot.sheet.series))
        rows = ((Cell(text=name), *each) for name, each in zip(self.names, cells, strict=True))
        return PlotTable(plot=plot, heads=heads, rows=tuple(rows))


def count_by(rows: Iterable[PlotRow], name: Callable[[PlotRow], str]) -> Counter[tuple[datetime, str]]:
    """Events by step and the ``name`` of a row."""
    counted: Counter[tuple[datetime, str]] = Counter()
    for row in rows:
        counted[row["step"], name(row)] += row["events"]
    return counted


def _length(step: timedelta) -> str:
    hours = step // timedelta(hours=1)
    if hours % 24:
        return "hour" if hours == 1 else f"{hours} hours"
    return "day" if hours == 24 else f"{hours // 24} days"
