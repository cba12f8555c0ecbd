"""Costs of a range by UTC day and model: a tile and a plot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final

from db.costs.report import CostSum
from review.charts import plots
from review.charts.plots import PlotData, Series
from review.charts.scales import span, time_marks
from review.dashboard.drawings import Cell, PlotTable
from review.dashboard.tiles import Tile, relative_change
from review.figures.ranges import DAY, Range
from review.languages import gettext as _
from review.languages import ngettext
from review.words.decisions import amount, percent, usd
from worker.model import CallPurpose

MOST_MODELS: Final = 5
"""Models with a colour of their own; the others are one sum."""

CHEAP_JUDGE: Final = "openai/gpt-4.1-nano"
"""Named while the judge is the model that writes: a quarter of the default's price (``worker.settings``)."""


def cost_tile(costs: Sequence[CostSum], chosen: Range) -> Tile:
    """What the days of the range cost; compared only where all its days are over."""
    now, before = _days(chosen, timedelta(0)), _days(chosen, chosen.back)
    unpriced = sum(each.unpriced_tokens for each in costs if each.day in now)
    note = _("UTC days from %(day)s on") % {"day": f"{min(now):%Y-%m-%d}"}
    read = [each for each in costs if each.purpose == CallPurpose.JUDGE]
    total, judge = _sum(costs, now), _sum(read, now)
    if total and judge:
        note += _("; the judge %(share)s") % {"share": percent(judge / total)}
        if {each.model for each in read} & {each.model for each in costs if each not in read}:
            note += _(", less with HUSHGATE_JUDGE_MODEL=%(model)s") % {"model": CHEAP_JUDGE}
    if unpriced:
        note = ngettext(
            "without %(tokens)s token that has no price",
            "without %(tokens)s tokens that have no price",
            unpriced,
        ) % {"tokens": amount(unpriced)}
    is_over = chosen.until.time() == datetime.min.time()
    change = relative_change(_sum(costs, now), _sum(costs, before), usd) if is_over else None
    return Tile(
        title=_("Cost"),
        value=usd(None if unpriced and not total else round(total, 6)),
        note=note,
        change=change,
    )


def draw_costs(costs: Sequence[CostSum], chosen: Range) -> PlotTable:
    """Bars of US dollars per UTC day, stacked by model."""
    days = sorted(_days(chosen, timedelta(0)))
    sums: defaultdict[tuple[date, str], float] = defaultdict(float)
    totals: defaultdict[str, float] = defaultdict(float)
    for each in costs:
        if each.day in days and each.usd and each.day and each.model:
            totals[each.model] += each.usd
            sums[each.day, each.model] += each.usd
    named = sorted(totals, key=lambda model: (-totals[model], model))[:MOST_MODELS]
    others = [model for model in totals if model not in named]
    groups = {model: [model] for model in named} | ({_("other models"): others} if others else {})
    starts = [datetime.combine(day, datetime.min.time(), tzinfo=chosen.since.tzinfo) for day in days]
    data = PlotData(
        key="cost",
        title=_("Cost per day, USD"),
        text=_("What models cost, by UTC day, stacked by model"),
        steps=tuple(span(start, DAY) for start in starts),
        marks=time_marks(starts),
        open=True,
    )
    values = {
        name: tuple(float(sum(sums[day, model] for model in models)) for day in days)
        for name, models in groups.items()
    }
    series = tuple(Series(name=name, values=each) for name, each in values.items())
    rows = tuple(
        (Cell(text=step), *(Cell(text=usd(each[at]), value=each[at]) for each in values.values()))
        for at, step in enumerate(data.steps)
    )
    plot = plots.stacked(replace(data, series=series), least=0, label=usd)
    return PlotTable(plot=plot, heads=(_("Day, UTC"), *values), rows=rows)


def _days(chosen: Range, back: timedelta) -> frozenset[date]:
    first, last = (chosen.since - back).date(), (chosen.until - back - timedelta(microseconds=1)).date()
    return frozenset(first + timedelta(days=number) for number in range((last - first).days + 1))


def _sum(costs: Sequence[CostSum], days: frozenset[date]) -> float:
    return sum(each.usd or 0.0 for each in costs if each.day in days)
