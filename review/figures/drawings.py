"""The dashboard's plots, each with its figures as a table and the way to the decisions behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from db.dashboard import BLOCKED, FAILED, Figures
from db.histograms import CONFIDENCE_BINS, Kind, middle_ms
from review.figures import figure_links, plots
from review.figures.plots import Plot, Series, Sheet
from review.figures.ranges import DAY, Range
from review.figures.scales import duration, span, time_marks
from review.figures.summary import PERCENTILES
from review.lists.reasons import said
from worker.model import Verdict

VERDICTS: Final = {Verdict.RESPOND: "Replied", Verdict.IGNORE: "Silent", Verdict.ESCALATE: "Escalated"}
Row: TypeAlias = Mapping[str, Any]
FAILURES: Final = ("Moderation", "Model", "Too late")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table; ``href`` leads to the decisions counted in it."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A plot and the same figures as a table."""

    plot: Plot
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Sketch:
    """Draws one answer for one range.

    Args:
        kept: the filters that every link carries on: account and scope.
    """

    def __init__(self, found: Figures, chosen: Range, kept: Mapping[str, str]) -> None:
        self.found = found
        self.chosen = chosen
        self.kept = dict(kept)
        self.starts = chosen.steps
        self.names = tuple(span(start, chosen.step) for start in self.starts)
        self.marks = time_marks(self.starts)

    def link(self, place: int, **filters: str | None) -> str:
        """To the decisions of one step."""
        start = self.starts[place]
        until = min(start + self.chosen.step, self.chosen.until)
        return figure_links.decisions(start, until, **self.kept, **filters)

    def decisions(self) -> Drawn:
        """Bars of what was decided."""
        counted = counted_by(self.found.counts, lambda row: row["decision"])
        series = tuple(
            Series(name=title, values=tuple(counted[start, verdict] for start in self.starts))
            for verdict, title in VERDICTS.items()
        )
        total = sum(counted.values())
        sheet = self._sheet(
            "decisions", "Decisions", f"{total} decisions, stacked by what was decided", series
        )
        cells = [
            tuple(
                Cell(text=str(counted[start, verdict]), href=self.link(place, decision=verdict))
                for verdict in VERDICTS
            )
            for place, start in enumerate(self.starts)
        ]
        return self._steps(plots.stacked(sheet), cells)

    def failures(self) -> Drawn:
        """Bars of silent failures, by what failed."""
        rows = [row for row in self.found.counts if row["reason_code"] in FAILED]
        counted = counted_by(rows, lambda row: _failure(row["reason_code"]))
        series = tuple(
            Series(name=name, values=tuple(counted[start, name] for start in self.starts))
            for name in FAILURES
        )
        text = (
            f"{sum(counted.values())} decisions that ended in silence because something did not do its work"
        )
        sheet = self._sheet("failures", "Silent failures", text, series)
        reasons = {name: ",".join(each for each in FAILED if _failure(each) == name) for name in FAILURES}
        cells = [
            tuple(
                Cell(text=str(counted[start, name]), href=self.link(place, reason=reasons[name]))
                for name in FAILURES
            )
            for place, start in enumerate(self.starts)
        ]
        return self._steps(plots.stacked(sheet), cells)

    def blocks(self) -> Drawn:
        """Bars of blocks per UTC day, a week of them at least."""
        rows = [{**row, "step": row["day"]} for row in self.found.days]
        counted = counted_by(rows, lambda row: row["reason_code"])
        until = self.chosen.until
        first = min(until - 6 * DAY, self.chosen.since).replace(hour=0, minute=0, second=0, microsecond=0)
        days = tuple(first + number * DAY for number in range((until - first) // DAY + 1))
        series = tuple(
            Series(name=said(reason), values=tuple(counted[start, reason] for start in days))
            for reason in BLOCKED
        )
        sheet = Sheet(
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
                        href=figure_links.decisions(start, start + DAY, **self.kept, reason=reason),
                    )
                    for reason in BLOCKED
                ),
            )
            for start in days
        )
        heads = ("Day, UTC", *(each.name for each in series))
        return Drawn(plot=plots.stacked(sheet), heads=heads, rows=rows_of_cells)

    def paces(self, kind: Kind, title: str, text: str) -> Drawn:
        """Lines of the percentiles of a time."""
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

    def confidence(self) -> Drawn:
        """How sure the deciding stage was."""
        counted: Counter[tuple[int, str]] = Counter()
        for row in self.found.spreads:
            if row["kind"] == Kind.CONFIDENCE:
                counted[row["bin"], row["decision"]] += row["events"]
        bounds = [
            (number / CONFIDENCE_BINS, (number + 1) / CONFIDENCE_BINS) for number in range(CONFIDENCE_BINS)
        ]
        names = tuple(f"{low:.2f}\N{EN DASH}{high:.2f}" for low, high in bounds)
        sheet = Sheet(
            key="confidence",
            title="Confidence",
            text="How many decisions were made with which confidence, stacked by what was decided",
            steps=names,
            marks=(*((place, f"{bounds[place][0]:.2f}") for place in (0, 5, 10, 15)), (19, "1.00")),
            series=tuple(
                Series(name=title, values=tuple(counted[place, verdict] for place in range(CONFIDENCE_BINS)))
                for verdict, title in VERDICTS.items()
            ),
        )
        rows = tuple(
            (
                Cell(text=names[place]),
                *(
                    Cell(text=str(counted[place, verdict]), href=self._band(bounds[place], verdict))
                    for verdict in VERDICTS
                ),
            )
            for place in range(CONFIDENCE_BINS)
        )
        return Drawn(plot=plots.stacked(sheet), heads=("Confidence", *VERDICTS.values()), rows=rows)

    def _band(self, bounds: tuple[float, float], verdict: str) -> str:
        low, high = (f"{each:g}" for each in bounds)
        return figure_links.of_range(
            self.chosen, **self.kept, decision=verdict, confidence_from=low, confidence_to=high
        )

    def _sheet(self, key: str, title: str, text: str, series: tuple[Series, ...]) -> Sheet:
        step = self.chosen.step
        return Sheet(
            key=key,
            title=f"{title} per {_length(step)}",
            text=text,
            steps=self.names,
            marks=self.marks,
            series=series,
            open=self.chosen.until - self.starts[-1] < step,
        )

    def _steps(self, plot: Plot, cells: Iterable[tuple[Cell, ...]]) -> Drawn:
        heads = ("Time, UTC", *(each.name for each in plot.sheet.series))
        rows = ((Cell(text=name), *each) for name, each in zip(self.names, cells, strict=True))
        return Drawn(plot=plot, heads=heads, rows=tuple(rows))


def counted_by(rows: Iterable[Row], name: Callable[[Row], str]) -> Counter[tuple[datetime, str]]:
    """Events by step and whatever ``name`` makes of a row."""
    counted: Counter[tuple[datetime, str]] = Counter()
    for row in rows:
        counted[row["step"], name(row)] += row["events"]
    return counted


def _length(step: timedelta) -> str:
    hours = step // timedelta(hours=1)
    if hours % 24:
        return "hour" if hours == 1 else f"{hours} hours"
    return "day" if hours == 24 else f"{hours // 24} days"


def _failure(reason: str) -> str:
    if "MODERATION" in reason:
        return FAILURES[0]
    return FAILURES[2] if reason == "TOO_LATE" else FAILURES[1]
