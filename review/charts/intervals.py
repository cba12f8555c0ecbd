"""A share with its interval, drawn for a table cell."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from review.charts.svg import decoration, share, tag
from worker.statistics.shares import Share

_SCALE: Final = Markup("").join(
    (
        tag("line", x1="0", x2="100%", y1="50%", y2="50%", class_="rule"),
        *(tag("line", x1=f"{at}%", x2=f"{at}%", y1="30%", y2="70%", class_="rule") for at in (0, 50, 100)),
    )
)


def interval(found: Share) -> Markup:
    """A share for a table cell: a dot on a line from 0 to 100 %, its interval as a bar."""
    low, high = 100 * found.low, 100 * found.high
    return decoration(
        _SCALE,
        tag("rect", x=share(low), width=share(max(0.5, high - low)), y="28%", height="44%", class_="range"),
        tag("circle", cx=share(100 * found.share), cy="50%", r=4, class_="point"),
        class_="interval",
    )
