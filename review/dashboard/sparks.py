"""Small plots for table cells; the next cell contains the same as text."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from review.dashboard.measures import Share
from review.dashboard.svg import share, tag


def spark(values: Sequence[float]) -> Markup:
    """Bars of one series, scaled to its highest value."""
    top = max(values, default=0)
    heights = [(place, max(4.0, 100 * value / top)) for place, value in enumerate(values) if value > 0]
    bars = "".join(f"M{10 * place + 1} 100v{-height:.1f}h8v{height:.1f}z" for place, height in heights)
    return tag(
        "svg",
        tag("path", d=bars, class_="c1"),
        viewBox=f"0 0 {10 * max(1, len(values))} 100",
        preserveAspectRatio="none",
        class_="spark",
        aria_hidden="true",
        focusable="false",
    )


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
