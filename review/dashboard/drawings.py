"""The dashboard's plots, each with its figures as a table that links to the decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

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
from review.words.decisions import DECISION_LABELS, reason_label
from worker.reasons import BLOCKED, FAILED, FAILURE_FAMILIES, Reason, ReasonFamily, reasons_of

PlotRow: TypeAlias = Mapping[str, Any]
Key = TypeVar("Key")
FAILURES: Final = {
    ReasonFamily.MODERATION_FAILED: mark("Moderation"),
    ReasonFamily.MODEL_FAILED: mark("Model"),
    ReasonFamily.TOO_LATE: mark("Too late"),
}


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
        self.happenings = happenings
        self.events = place_events(happenings, self.starts, chosen.step)

    def decisions(self) -> PlotTable:
        """Bars of decisions by kind."""
        counts = count_by(self.found.counts, lambda row: row["decision"])
        text = _("Decisions in this range, stacked by decision: %(num)s")
        data = self.step_data("decisions", _("Decisions"), text % {"num": counts.total()})
        return self._bars_per_step(data, counts, _decision_titles(), lambda name: {"decision": name})

    def failures(self) -> PlotTable:
        """Bars of silent failures by family."""
        rows = [row for row in self.found.counts if row["reason_code"] in FAILED]
        counts = count_by(rows, lambda row: Reason(row["reason_code"]).spec.family)
        text = _("Decisions without a reply because of a failure: %(num)s") % {"num": counts.total()}
        reasons = {family: ",".join(reasons_of(family)) for family in FAILURE_FAMILIES}
        titles: dict[str, str] = {family: _(FAILURES[family]) for family in FAILURE_FAMILIES}
        data = self.step_data("failures", _("Silent failures"), text)
        return self._bars_per_step(data, counts, titles, lambda name: {"reason": reasons[ReasonFamily(name)]})

    def blocks(self) -> PlotTable:
        """Bars of blocks per UTC day, for at least a week."""
        rows = [{**row, "step": row["day"]} for row in self.found.days]
        counts = count_by(rows, lambda row: row["reason_code"])
        until = self.chosen.until
        first = min(until - 6 * DAY, self.chosen.since).replace(hour=0, minute=0, second=0, microsecond=0)
        days = tuple(first + number * DAY for number in range((until - first) // DAY + 1))
        data = PlotData(
            key="blocks",
            title=_("Blocks per day"),
            text=_("Messages and drafts that a rule or moderation flagged: %(num)s")
            % {"num": counts.total()},
            steps=tuple(span(start, DAY) for start in days),
            marks=time_marks(days),
            events=place_events(self.happenings, days, DAY),
            open=until - days[-1] < DAY,
        )

        def link(day: datetime, reason: str) -> str:
            return decisions_link(day, day + DAY, **self.filters, reason=reason)

        titles: dict[str, str] = {reason: reason_label(reason) for reason in BLOCKED}
        return _bars(data, counts, titles, keys=days, head=_("Day, UTC"), link=link)

    def time_percentiles(self, kind: SpreadKind, title: str, text: str) -> PlotTable:
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
        data = self.step_data(str(kind), title, text)
        rows = tuple(
            (
                Cell(text=step),
                *(Cell(text="–" if value is None else duration(value), value=value) for value in values),
            )
            for step, *values in zip(data.steps, *(each.values for each in series), strict=True)
        )
        plot = plots.lines(replace(data, series=series))
        return PlotTable(plot=plot, heads=(_("Time, UTC"), *PERCENTILES), rows=rows, is_line=True)

    def mean_confidence(self) -> PlotTable:
        """Lines of the mean confidence of assessed drafts, one for each policy."""
        means = mean_confidences(self.found.trust)
        what = _("Mean confidence of assessed drafts by policy")
        return self._means(means, "trust", _("Mean confidence"), what)

    def mean_confidence_by_label(self) -> PlotTable:
        """Lines of the mean confidence of assessed drafts, one for each of the most frequent labels."""
        means = mean_confidences(self.found.labels, "label")
        what = _("Mean confidence of assessed drafts by label of the event")
        return self._means(means, "labels", _("Mean confidence by label"), what)

    def _means(
        self, means: Mapping[tuple[datetime, str], float], key: str, title: str, what: str
    ) -> PlotTable:
        names = sorted({name for _step, name in means})
        series = tuple(
            Series(name=name, values=tuple(means.get((start, name)) for start in self.starts))
            for name in names
        )
        data = self.step_data(key, title, what)
        rows = tuple(
            (
                Cell(text=step),
                *(
                    Cell(text="–" if value is None else localized(f"{value:.3f}"), value=value)
                    for value in values
                ),
            )
            for step, *values in zip(data.steps, *(each.values for each in series), strict=True)
        )
        plot = plots.share_lines(replace(data, series=series))
        return PlotTable(plot=plot, heads=(_("Time, UTC"), *names), rows=rows, is_line=True)

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

        def link(place: int, decision: str) -> str:
            low, high = (f"{each:g}" for each in bounds[place])
            filters = self.filters | {"decision": decision, "confidence_from": low, "confidence_to": high}
            return range_link(self.chosen, **filters)

        keys = range(CONFIDENCE_BINS)
        return _bars(data, counts, _decision_titles(), keys=keys, head=_("Confidence"), link=link)

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

    def _bars_per_step(
        self,
        data: PlotData,
        counts: Counter[tuple[datetime, str]],
        titles: Mapping[str, str],
        filters_of: Callable[[str], dict[str, str]],
    ) -> PlotTable:
        def link(start: datetime, name: str) -> str:
            until = min(start + self.chosen.step, self.chosen.until)
            return decisions_link(start, until, **self.filters, **filters_of(name))

        return _bars(data, counts, titles, keys=self.starts, head=_("Time, UTC"), link=link)


def count_by(rows: Iterable[PlotRow], name: Callable[[PlotRow], str]) -> Counter[tuple[datetime, str]]:
    """Events by step and the ``name`` of a row."""
    counts: Counter[tuple[datetime, str]] = Counter()
    for row in rows:
        counts[row["step"], name(row)] += row["events"]
    return counts


def _bars(
    data: PlotData,
    counts: Counter[tuple[Key, str]],
    titles: Mapping[str, str],
    *,
    keys: Sequence[Key],
    head: str,
    link: Callable[[Key, str], str],
) -> PlotTable:
    """Stacked bars of counts by (key of a step, name), and a table in which every count is a link."""
    series = tuple(
        Series(name=title, values=tuple(counts[key, name] for key in keys)) for name, title in titles.items()
    )
    rows = tuple(
        (Cell(text=step), *(Cell(text=str(counts[key, name]), href=link(key, name)) for name in titles))
        for key, step in zip(keys, data.steps, strict=True)
    )
    plot = plots.stacked(replace(data, series=series))
    return PlotTable(plot=plot, heads=(head, *titles.values()), rows=rows)


def _decision_titles() -> dict[str, str]:
    return {decision: _(title) for decision, title in DECISION_LABELS.items()}


def _per_step(title: str, step: timedelta) -> str:
    """The title of a plot with the length of its steps."""
    hours = step // timedelta(hours=1)
    if hours % 24:
        text = ngettext("%(title)s per hour", "%(title)s per %(num)s hours", hours)
        return text % {"title": title, "num": hours}
    text = ngettext("%(title)s per day", "%(title)s per %(num)s days", hours // 24)
    return text % {"title": title, "num": hours // 24}
