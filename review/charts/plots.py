"""Plots drawn on the server as SVG: no script, any width, both colour schemes.

A plot is two SVGs side by side, so that text keeps its size in a narrow plot: the axis, and the area, whose
positions are in percent. Series differ by pattern as well as by colour; a legend names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from review.charts.scales import compact, duration, log_ticks, ticks
from review.charts.svg import decoration, pattern, share, stroke, swatch, tag
from review.languages.numbers import localized
from review.words.decisions import percent

FOOT: Final = 12.0
"""Percent of the height that the names below the area take."""
HEAD: Final = 4.0
"""Percent above the highest mark, so that its name is not cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One measure at every step; None where it was not measured."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotData:
    """The data of a plot.

    Attributes:
        key: unique on its page; prefix of element ids.
        title: what is plotted, as a heading.
        text: one sentence for screen readers.
        steps: the full names of the steps.
        marks: places of the steps that are named below, with their short names.
        open: the last step is not over.
        goal: a value that is drawn as a line across, with its name.
        events: places of steps with a name and a sentence for each, drawn as lines down.
    """

    key: str
    title: str
    text: str
    steps: tuple[str, ...]
    marks: tuple[tuple[int, str], ...]
    series: tuple[Series, ...] = ()
    open: bool = False
    goal: tuple[float, str] | None = None
    events: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A drawn plot: legend entries are swatch and name."""

    data: PlotData
    legend: tuple[tuple[Markup, str], ...]
    axis: Markup
    area: Markup


def stacked(data: PlotData, *, least: float = 1, label: Callable[[float], str] = "{:,.0f}".format) -> Plot:
    """Stacked bars; each has a title of step, series and number; ``least``: the axis' smallest step."""
    totals = [sum(each.values[place] or 0 for each in data.series) for place in range(len(data.steps))]
    marks = ticks(max(totals, default=0), least=least)
    width = 100 / max(1, len(data.steps))
    bars = []
    for place, step in enumerate(data.steps):
        floor = 0.0
        for number, each in enumerate(data.series):
            value = each.values[place] or 0
            if value <= 0:
                continue
            bars.append(
                tag(
                    "rect",
                    tag("title", f"{step}: {each.name} {label(value)}"),
                    x=share(width * (place + 0.1)),
                    width=share(width * 0.8),
                    y=share(_up(floor + value, marks)),
                    height=share(_up(floor, marks) - _up(floor + value, marks)),
                    fill=f"url(#{data.key}-p{number})",
                    class_="bar open" if data.open and place == len(data.steps) - 1 else "bar",
                )
            )
            floor += value
    legend = tuple((swatch(data.key, number), each.name) for number, each in enumerate(data.series))
    axis = [(share(_up(mark, marks)), compact(mark)) for mark in marks]
    return _plot(data, axis, bars, legend)


def lines(data: PlotData) -> Plot:
    """Lines of times in ms on a logarithmic axis; gaps where nothing was measured."""
    values = [value for each in data.series for value in each.values if value]
    marks = log_ticks(min(values, default=1), max(values, default=1000))

    def place(value: float) -> float:
        return _up(math.log(value / marks[0]) / math.log(marks[-1] / marks[0]), (0, 1))

    return _lines(data, place, marks, duration)


def share_lines(data: PlotData) -> Plot:
    """Lines of shares 0..1; gaps where nothing was measured."""
    return _lines(data, lambda value: _up(value, (0, 1)), (0.0, 0.25, 0.5, 0.75, 1.0), _two_decimals)


def _two_decimals(mark: float) -> str:
    return localized(f"{mark:.2f}")


def rate_lines(data: PlotData) -> Plot:
    """Lines of shares from 0 to the highest one or the goal; gaps where nothing was measured."""
    values = [value for each in data.series for value in each.values if value is not None]
    marks = ticks(max([*values, data.goal[0] if data.goal else 0.0]))
    return _lines(data, lambda value: _up(value, marks), marks, percent)


def _lines(
    data: PlotData, place: Callable[[float], float], marks: Sequence[float], label: Callable[[float], str]
) -> Plot:
    """Lines whose values are placed by ``place``, in percent from the top, and written by ``label``."""
    drawn = [] if data.goal is None else [_goal(data.goal[1], place(data.goal[0]))]
    for number, each in enumerate(data.series):
        points = [
            None if value is None else ((at + 0.5) * 100 / len(data.steps), place(max(value, marks[0])))
            for at, value in enumerate(each.values)
        ]
        drawn += _line(points, number)
        drawn += [
            tag(
                "circle",
                tag("title", f"{step}: {each.name} {label(value)}"),
                cx=share(point[0]),
                cy=share(point[1]),
                r=3,
                class_=f"dot c{number % 6 + 1}",
            )
            for step, value, point in zip(data.steps, each.values, points, strict=True)
            if point is not None and value is not None
        ]
    legend = tuple((stroke(number), each.name) for number, each in enumerate(data.series))
    axis = [(share(place(mark)), label(mark)) for mark in marks]
    return _plot(data, axis, drawn, legend)


def _goal(name: str, at: float) -> Markup:
    """A line across the plot, named above its right end."""
    line = tag("line", x1="0", x2="100%", y1=share(at), y2=share(at), class_="goal")
    return Markup("").join((line, tag("text", name, x="100%", y=share(at), dy="-0.35em", class_="goal-name")))


def _event(name: str, text: str, at: float) -> Markup:
    """A line down the plot at a moment, with its number at the top."""
    return tag(
        "g",
        tag("title", text),
        tag("line", x1=share(at), x2=share(at), y1=share(HEAD), y2=share(100 - FOOT), class_="event"),
        tag("text", name, x=share(at), y=share(HEAD), dy="-0.15em", class_="mark middle"),
    )


def _line(points: Sequence[tuple[float, float] | None], number: int) -> list[Markup]:
    """Line segments between measured neighbours; one element each, as positions are in percent."""
    return [
        tag(
            "line",
            x1=share(one[0]),
            y1=share(one[1]),
            x2=share(two[0]),
            y2=share(two[1]),
            class_=f"line l{number % 6 + 1}",
        )
        for one, two in pairwise(points)
        if one is not None and two is not None
    ]


def _plot(
    data: PlotData,
    axis: Sequence[tuple[str, str]],
    inside: Sequence[Markup],
    legend: tuple[tuple[Markup, str], ...],
) -> Plot:
    """A plot whose ``axis`` has the labels of its marks, each after its distance from the top."""
    numbers = range(len(data.series))
    width = 100 / max(1, len(data.steps))
    step_names = [
        tag("text", name, x=share((at + 0.5) * width), y="98%", class_=f"mark {_side(at, data)}")
        for at, name in data.marks
    ]
    area = tag(
        "svg",
        tag("title", data.title, id=f"{data.key}-title"),
        tag("desc", data.text, id=f"{data.key}-text"),
        tag("defs", *(pattern(data.key, number) for number in numbers)),
        *(tag("line", x1="0", x2="100%", y1=y, y2=y, class_="rule") for y, _ in axis),
        *inside,
        *(_event(name, text, (at + 0.5) * width) for at, name, text in data.events),
        *step_names,
        role="img",
        aria_labelledby=f"{data.key}-title {data.key}-text",
        class_="area",
    )
    labels = (tag("text", label, x="92%", y=y, dy="0.32em", class_="mark end") for y, label in axis)
    return Plot(data=data, legend=legend, axis=decoration(*labels, class_="axis"), area=area)


def _side(at: int, data: PlotData) -> str:
    """The text anchor of a step's name, so that names at the edges are not cut off."""
    if at == 0:
        return "start"
    return "end" if at == len(data.steps) - 1 else "middle"


def _up(value: float, marks: Sequence[float]) -> float:
    """The position of a value, in percent from the top."""
    return HEAD + (100 - FOOT - HEAD) * (1 - value / marks[-1])
