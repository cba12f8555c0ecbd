"""The reliability diagram: the share of right drafts by confidence, beside the diagonal of a perfect one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from review.charts.svg import decoration, share, tag
from review.languages import gettext as _
from review.languages import ngettext
from review.words.decisions import percent
from trials.pure.statistics.sequential import Comparison, ComparisonVerdict
from worker.statistics.reliability import ReliabilityBin

TOP: Final = 4.0
BOTTOM: Final = 88.0
LEFT: Final = 9.0
RIGHT: Final = 98.0
MARKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


def reliability_plot(bins: Sequence[ReliabilityBin]) -> Markup:
    """The diagram as SVG; a table beside it has the same figures."""
    return tag(
        "svg",
        tag("title", _("Reliability diagram"), id="reliability-title"),
        tag("desc", _text(bins), id="reliability-text"),
        *(part for mark in MARKS for part in _mark(mark)),
        tag("line", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1), class_="goal"),
        *(part for each in bins for part in _drawn(each)),
        tag("text", _("Confidence"), x=share((LEFT + RIGHT) / 2), y="99%", class_="mark middle"),
        role="img",
        aria_labelledby="reliability-title reliability-text",
        class_="reliability",
    )


def _text(bins: Sequence[ReliabilityBin]) -> str:
    lines = _("Of drafts with a mean confidence of %(score)s, %(right)s were right (%(low)s to %(high)s).")
    return " ".join(
        lines
        % {
            "score": percent(each.score),
            "right": percent(each.hits.share),
            "low": percent(each.hits.low),
            "high": percent(each.hits.high),
        }
        for each in bins
    )


def _mark(at: float) -> tuple[Markup, ...]:
    return (
        tag("line", x1=_x(0), x2=_x(1), y1=_y(at), y2=_y(at), class_="rule"),
        tag("text", percent(at), x=share(LEFT - 1), y=_y(at), dy="0.32em", class_="mark end"),
        tag("text", percent(at), x=_x(at), y=share(BOTTOM), dy="1.2em", class_="mark middle"),
    )


def _drawn(found: ReliabilityBin) -> tuple[Markup, ...]:
    """The share with its interval; a larger dot has more weight."""
    at = _x(found.score)
    text = ngettext(
        "%(right)s of %(reviews)s reviewed draft right",
        "%(right)s of %(reviews)s reviewed drafts right",
        found.hits.total,
    )
    title = text % {
        "right": percent(found.hits.share),
        "reviews": found.hits.total,
    }
    return (
        tag("line", x1=at, x2=at, y1=_y(found.hits.low), y2=_y(found.hits.high), class_="line l1 spread"),
        tag("circle", tag("title", title), cx=at, cy=_y(found.hits.share), r=_radius(found), class_="dot c1"),
    )


def _radius(found: ReliabilityBin) -> str:
    return f"{4 + 6 * found.weight**0.5:.1f}"


def _x(value: float) -> str:
    return share(LEFT + (RIGHT - LEFT) * value)


def _y(value: float) -> str:
    return share(BOTTOM - (BOTTOM - TOP) * value)


ROOM: Final = 1.15
"""The line is longer than the interval, so that its end can be seen."""


def difference_plot(found: Comparison) -> Markup:
    """A decoration: the page says the same in words."""
    reach = max(abs(found.low), abs(found.high)) * ROOM
    if not math.isfinite(reach) or reach <= 0:
        return Markup("")

    def at(value: float) -> float:
        return 50 + 50 * value / reach

    range_class = {ComparisonVerdict.LOWER: "range lower", ComparisonVerdict.HIGHER: "range higher"}.get(
        found.verdict, "range"
    )
    low = at(found.low)
    width = max(0.5, at(found.high) - low)
    return decoration(
        tag("line", x1="0", x2="100%", y1="50%", y2="50%", class_="rule"),
        tag("rect", x=share(low), width=share(width), y="30%", height="40%", class_=range_class),
        tag("line", x1="50%", x2="50%", y1="8%", y2="92%", class_="zero"),
        tag("circle", cx=share(at(found.difference)), cy="50%", r=5, class_="point"),
        class_="interval difference-plot",
    )
