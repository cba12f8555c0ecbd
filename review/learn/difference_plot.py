"""The difference of two arms with its interval, on a line around no difference."""

from __future__ import annotations

import math
from typing import Final

from markupsafe import Markup

from review.charts.svg import decoration, share, tag
from worker.statistics.sequential import Comparison, ComparisonVerdict

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
