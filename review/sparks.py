"""Small pictures for the cells of a table; the cell beside them says the same in words."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from review.measures import Share
from review.svg import share, tag


def spark(values: Sequence[float], top: float) -> Markup:
    """Bars of one series, all rows of a table on the scale of ``top``."""
    width = 100 / max(1, len(values))
    bars = [
        tag(
            "rect",
            x=share(width * (place + 0.1)),
            width=share(width * 0.8),
            y=share(100 - max(4.0, 100 * value / top)),
            height=share(max(4.0, 100 * value / top)),
            class_="c1",
        )
        for place, value in enumerate(values)
        if value > 0 and top > 0
    ]
    return tag("svg", *bars, class_="spark", aria_hidden="true", focusable="false")


def interval(found: Share) -> Markup:
    """A share as a dot on a line from 0 to 100 %, its interval as a bar."""
    low, high = 100 * found.low, 100 * found.high
    return tag(
        "svg",
        tag("line", x1="0", x2="100%", y1="50%", y2="50%", class_="rule"),
        *(tag("line", x1=f"{at}%", x2=f"{at}%", y1="30%", y2="70%", class_="rule") for at in (0, 50, 100)),
        tag("rect", x=share(low), width=share(max(0.5, high - low)), y="28%", height="44%", class_="range"),
        tag("circle", cx=share(100 * found.share), cy="50%", r=4, class_="point"),
        class_="interval",
        aria_hidden="true",
        focusable="false",
    )
