"""Parts of the decision page, rendered without a server."""

from __future__ import annotations

import re

import pytest

from review.http import templating

STYLE = templating._environment()


@pytest.mark.parametrize(
    ("tier", "colour", "mark"), [("high", "good", "✓"), ("medium", "warn", "⚡"), ("low", "bad", "⚠")]
)
def test_the_badge_of_a_tier_has_its_colour(tier: str, colour: str, mark: str) -> None:
    """Green, yellow and red with the mark and the word; an unknown tier has no colour."""
    parts = STYLE.get_template("decision/_parts.html").module
    badge = parts.tier(tier)  # type: ignore[attr-defined]
    unknown = parts.tier("top")  # type: ignore[attr-defined]

    assert re.findall(r'class="badge (\w*)"', badge) == [colour]
    assert f"{mark} {tier}" in badge
    assert re.findall(r'class="badge (\w*)"', unknown) == [""]
