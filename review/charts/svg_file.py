"""A plot as an SVG file that needs no style sheet: colours and fonts are attributes."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup

from review.charts.plots import Plot
from review.charts.svg import tag

WIDTH: Final = 960
HEIGHT: Final = 420
AREA_TOP: Final = 84
AREA_HEIGHT: Final = 310
AXIS: Final = 70
"""Pixels left of the plot for the labels of its axis."""
LEGEND_STEP: Final = 170
COLOURS: Final = ("#2f6f8f", "#b4631e", "#4f7f3a", "#8a4f9e", "#a33a4a", "#5b6472")
LOOKS: Final[dict[str, str]] = {
    "axis": 'font-size="12"',
    "area": 'font-size="12"',
    "rule": 'stroke="#d5d9de" stroke-width="1"',
    "mark": 'fill="#4b5563"',
    "end": 'text-anchor="end"',
    "middle": 'text-anchor="middle"',
    "start": 'text-anchor="start"',
    "line": 'stroke-width="2" stroke-linecap="round"',
    "over": 'stroke="#ffffff" stroke-width="1.25" fill="none"',
    "goal": 'stroke="#b42318" stroke-width="1.5" stroke-dasharray="6 4"',
    "goal-name": 'fill="#b42318" text-anchor="end" stroke="#ffffff" stroke-width="3" paint-order="stroke"',
    "event": 'stroke="#4b5563" stroke-width="1" stroke-dasharray="2 3"',
    "bar": "",
    "open": 'opacity="0.75"',
    "dot": "",
    "swatch": "",
    "long": "",
} | {
    f"{kind}{number}": f'{attribute}="{colour}"{dash}'
    for number, colour in enumerate(COLOURS, start=1)
    for kind, attribute, dash in (
        ("c", "fill", ""),
        ("l", "stroke", "" if number == 1 else f' stroke-dasharray="{2 + 2 * number} 4"'),
    )
}
"""Class of the style sheet -> attributes; a class without an entry raises, so that none is forgotten."""
CLASSES: Final = re.compile(r'(?<= )class="([^"]*)"')


def plot_file(plot: Plot) -> Markup:
    """The whole plot with its title and legend."""
    return tag(
        "svg",
        tag("rect", width=WIDTH, height=HEIGHT, fill="#ffffff"),
        tag("text", plot.data.title, x=16, y=30, fill="#111827", font_size=18, font_weight=600),
        *_legend(plot),
        _nested(plot.axis, x=0, width=AXIS),
        _nested(plot.area, x=AXIS, width=WIDTH - AXIS - 24),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=WIDTH,
        height=HEIGHT,
        font_family="system-ui, sans-serif",
    )


def _legend(plot: Plot) -> list[Markup]:
    """Swatch and name of each series, in a row; with more, several rows would not fit."""
    parts = []
    step = min(LEGEND_STEP, (WIDTH - 32) // max(1, len(plot.legend)))
    for number, (swatch, name) in enumerate(plot.legend):
        left = 16 + number * step
        parts.append(_sized(swatch, x=left, y=48, width=18, height=12))
        shown = (
            name
            if len(name) * 7 < step - 24
            else name[: max(4, (step - 36) // 7)] + "\N{HORIZONTAL ELLIPSIS}"
        )
        parts.append(tag("text", shown, x=left + 24, y=59, fill="#111827", font_size=13))
    return parts


def _nested(markup: Markup, *, x: int, width: int) -> Markup:
    return _sized(markup, x=x, y=AREA_TOP, width=width, height=AREA_HEIGHT)


def _sized(markup: Markup, *, x: int, y: int, width: int, height: int) -> Markup:
    """An SVG of ours with a place and a size, its classes replaced."""
    sized = str(markup).replace("<svg ", f'<svg x="{x}" y="{y}" width="{width}" height="{height}" ', 1)
    return Markup(CLASSES.sub(_looks, sized))  # noqa: S704  # markup of ours, with values of ours


def _looks(found: re.Match[str]) -> str:
    return " ".join(LOOKS[each] for each in found[1].split() if LOOKS[each])
