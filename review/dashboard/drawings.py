"""The dashboard's plots, each with its figures as a table that links to the decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from db.costs.report import CostSum
from db.figures.dashboard import DashboardFigures
from db.figures.histograms import CONFIDENCE_BINS, SpreadKind, middle_ms
from review.charts import plots
from review.charts.plots import Plot, PlotData, Series
from review.charts.scales import duration, span, time_marks
from review.dashboard.events import NumberedEvent, place_events
from review.figures.ranges import DAY, Range, decisions_link, range_link
from review.figures.summary import PERCENTILES, mean_confidences
from review.languages import gettext as _
from review.languages import mark, ngettext
from review.languages.numbers import localized
from review.words.decisions import DECISION_LABELS, usd

PlotRow: TypeAlias = Mapping[str, Any]
AXES: Final = {
    SpreadKind.TOTAL: mark("Percentiles from arrival to the decision, on a logarithmic axis"),
    SpreadKind.WAITING: mark("Percentiles from arrival to the first stage, on a logarithmic axis"),
}
MOST_MODELS: Final = 5
"""Models with a colour of their own in the costs; the others are one sum."""
NONE: Final = "\N{EN DASH}"
"""The text of a figure that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table; ``href`` links to the decisions counted in it."""

    text: str
    href: str | None = None
    value: float | None = None
    """The number, for files; the text where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotTable:
    """A plot and the same figures as a table; ``in_words`` makes a phrase of a row's cells after the step."""

    plot: Plot
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_line: bool = False
    in_words: Callable[[Sequence[Cell]], str] | None = None

    @property
    def key(self) -> str:
        """Unique on the page."""
        return self.plot.data.key

    @property
    def sentence(self) -> str:
        """The figures in words where at most one step has any, as a plot of one bar shows nothing more."""
        series = self.plot.data.series
        places = [at for at in range(len(self.rows)) if any(self._has(each.values[at]) for each in series)]
        if len(places) > 1:
            return ""
        if not places:
            return _("Nothing was counted in this range.")
        step, *cells = self.rows[places[0]]
        figures = self.in_words(cells) if self.in_words else self._named(cells)
        return _("%(step)s: %(figures)s. Nothing else was counted.") % {
            "step": step.text, "figures": figures
        }  # fmt: skip

    def _named(self, cells: Sequence[Cell]) -> str:
        shown = zip(self.heads[1:], cells, strict=True)
        return ", ".join(f"{name} {cell.text}" for name, cell in shown if cell.text not in ("0", "–"))

    def _has(self, value: float | None) -> bool:
        """Whether a step has a figure: a measured zero of a line is one, a bar of nothing is not."""
        return value is not None if self.is_line else bool(value)


def charted(
    data: PlotData,
    columns: Mapping[str, Sequence[float | None]],
    draw: Callable[[PlotData], Plot],
    *,
    head: str,
    write: Callable[[float], str],
    link: Callable[[int, str], str] | None = None,
    is_line: bool = False,
) -> PlotTable:
    """A plot with one series for each column, and the same figures as a table.

    ``write`` makes the text of a figure, ``link`` the address of the decisions that it counts, from the place
    of its step and the name of its column.
    """
    series = tuple(Series(name=name, values=tuple(values)) for name, values in columns.items())

    def cell(place: int, each: Series) -> Cell:
        value = each.values[place]
        if value is None:
            return Cell(text=NONE)
        return Cell(text=write(value), value=value, href=link(place, each.name) if link else None)

    rows = tuple(
        (Cell(text=step), *(cell(place, each) for each in series)) for place, step in enumerate(data.steps)
    )
    return PlotTable(
        plot=draw(replace(data, series=series)),
        heads=(head, *columns),
        rows=rows,
        is_line=is_line,
    )


class DashboardPlots:
    """Draws the figures of one range.

    Args:
        filters: account and scope, which every link contains.
    """

    def __init__(
        self,
        found: DashboardFigures,
        chosen: Range,
        filters: Mapping[str, str],
        happenings: Sequence[NumberedEvent] = (),
    ) -> None:
        self.found = found
        self.chosen = chosen
        self.filters = dict(filters)
        self.starts = chosen.steps
        self.events = place_events(happenings, self.starts, chosen.step)

    def decisions(self) -> PlotTable:
        """Bars of decisions by kind."""
        counts = count_by(self.found.counts, lambda row: row["decision"])
        text = _("Decisions in this range, stacked by decision: %(num)s")
        data = self.step_data("decisions", _("Decisions"), text % {"num": counts.total()})

        def link(place: int, title: str) -> str:
            since = self.starts[place]
            until = min(since + self.chosen.step, self.chosen.until)
            return decisions_link(since, until, **self.filters, decision=titles[title])

        titles = _decision_titles()
        columns = {
            title: [counts[start, decision] for start in self.starts] for title, decision in titles.items()
        }
        return charted(data, columns, plots.stacked, head=_("Time, UTC"), write=str, link=link)

    def time_percentiles(self, kind: SpreadKind, title: str) -> PlotTable:
        """Lines of the percentiles of a time measure."""
        by_step = {row["step"]: row for row in self.found.paces if row["kind"] == kind}
        columns = {
            name: [middle_ms(by_step[start][name]) if start in by_step else None for start in self.starts]
            for name in PERCENTILES
        }
        data = self.step_data(str(kind), title, _(AXES[kind]))
        return charted(data, columns, plots.lines, head=_("Time, UTC"), write=duration, is_line=True)

    def mean_confidence(self) -> PlotTable:
        """Lines of the mean confidence of assessed drafts, one for each policy."""
        what = _("Mean confidence of assessed drafts by policy")
        return self._means(
            self.step_data("trust", _("Mean confidence"), what), mean_confidences(self.found.trust)
        )

    def mean_confidence_by_label(self) -> PlotTable:
        """Lines of the mean confidence of assessed drafts, one for each of the most frequent labels."""
        what = _("Mean confidence of assessed drafts by label of the event")
        data = self.step_data("labels", _("Mean confidence by label"), what)
        return self._means(data, mean_confidences(self.found.labels, "label"))

    def _means(self, data: PlotData, means: Mapping[tuple[datetime, str], float]) -> PlotTable:
        names = sorted({name for _step, name in means})
        columns = {name: [means.get((start, name)) for start in self.starts] for name in names}
        draw, head = plots.share_lines, _("Time, UTC")
        return charted(
            data, columns, draw, head=head, write=lambda value: localized(f"{value:.3f}"), is_line=True
        )

    def confidence(self) -> PlotTable:
        """Bars of assessed drafts by confidence."""
        counts: Counter[tuple[int, str]] = Counter()
        for row in self.found.spreads:
            if row["kind"] == SpreadKind.CONFIDENCE:
                counts[row["bin"], row["decision"]] += row["events"]
        bounds = [
            (number / CONFIDENCE_BINS, (number + 1) / CONFIDENCE_BINS) for number in range(CONFIDENCE_BINS)
        ]
        data = PlotData(
            key="confidence",
            title=_("Confidence"),
            text=_("Assessed drafts by confidence, stacked by decision"),
            steps=tuple(localized(f"{low:.2f}\N{EN DASH}{high:.2f}") for low, high in bounds),
            marks=(
                *((place, localized(f"{bounds[place][0]:.2f}")) for place in (0, 5, 10, 15)),
                (19, localized("1.00")),
            ),
        )
        titles = _decision_titles()

        def link(place: int, title: str) -> str:
            low, high = (f"{each:g}" for each in bounds[place])
            filters = self.filters | {"decision": titles[title]}
            return range_link(self.chosen, **filters, confidence_from=low, confidence_to=high)

        columns = {
            title: [counts[place, decision] for place in range(CONFIDENCE_BINS)]
            for title, decision in titles.items()
        }
        return charted(data, columns, plots.stacked, head=_("Confidence"), write=str, link=link)

    def costs(self, costs: Sequence[CostSum]) -> PlotTable:
        """Bars of US dollars per UTC day, stacked by model."""
        days = sorted(cost_days(self.chosen, timedelta(0)))
        sums: Counter[tuple[date, str]] = Counter()
        totals: Counter[str] = Counter()
        for each in costs:
            if each.day in days and each.usd and each.day and each.model:
                totals[each.model] += each.usd  # type: ignore[assignment]
                sums[each.day, each.model] += each.usd  # type: ignore[assignment]
        named = sorted(totals, key=lambda model: (-totals[model], model))[:MOST_MODELS]
        others = [model for model in totals if model not in named]
        groups = {model: [model] for model in named} | ({_("other models"): others} if others else {})
        starts = [datetime.combine(day, datetime.min.time(), tzinfo=self.chosen.since.tzinfo) for day in days]
        data = PlotData(
            key="cost",
            title=_("Cost per day, USD"),
            text=_("What models cost, by UTC day, stacked by model"),
            steps=tuple(span(start, DAY) for start in starts),
            marks=time_marks(starts),
            open=True,
        )
        columns = {
            name: [float(sum(sums[day, model] for model in models)) for day in days]
            for name, models in groups.items()
        }
        draw = partial(plots.stacked, least=0, label=usd)
        return charted(data, columns, draw, head=_("Day, UTC"), write=usd)

    def step_data(self, key: str, title: str, text: str) -> PlotData:
        """A plot of the range's steps, without series."""
        step = self.chosen.step
        return PlotData(
            key=key,
            title=_per_step(title, step),
            text=text,
            steps=tuple(span(start, step) for start in self.starts),
            marks=time_marks(self.starts),
            events=self.events,
            open=self.chosen.until - self.starts[-1] < step,
        )


def cost_days(chosen: Range, back: timedelta) -> frozenset[date]:
    """The UTC days of a range, or of the range ``back`` before it."""
    first, last = (chosen.since - back).date(), (chosen.until - back - timedelta(microseconds=1)).date()
    return frozenset(first + timedelta(days=number) for number in range((last - first).days + 1))


def count_by(rows: Iterable[PlotRow], name: Callable[[PlotRow], str]) -> Counter[tuple[datetime, str]]:
    """Events by step and the ``name`` of a row."""
    counts: Counter[tuple[datetime, str]] = Counter()
    for row in rows:
        counts[row["step"], name(row)] += row["events"]
    return counts


def _decision_titles() -> dict[str, str]:
    """The title of each decision -> its code."""
    return {_(title): decision for decision, title in DECISION_LABELS.items()}


def _per_step(title: str, step: timedelta) -> str:
    """The title of a plot with the length of its steps."""
    hours = step // timedelta(hours=1)
    if hours % 24:
        text = ngettext("%(title)s per hour", "%(title)s per %(num)s hours", hours)
        return text % {"title": title, "num": hours}
    text = ngettext("%(title)s per day", "%(title)s per %(num)s days", hours // 24)
    return text % {"title": title, "num": hours // 24}
