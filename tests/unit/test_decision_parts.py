"""Parts of the decision page, rendered without a server."""

from __future__ import annotations

import re

import pytest

from features.feature import hook_values
from review.http import templating
from review.words.decisions import DRAFT_PROBLEMS
from worker.assessment.policies.shortfalls import Shortfall
from worker.assessment.policies.vetoes import Veto

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


def test_every_check_of_a_reading_has_words() -> None:
    """No code such as promised_action is shown for a check of a draft."""
    assert {*Veto, *Shortfall} <= set(DRAFT_PROBLEMS)


def test_a_clock_time_follows_until() -> None:
    """A time such as “in 58 min” is no end of a sentence with “until”, “at” or “since”."""
    relative = re.compile(r"\b(?:until|at|since) %\((\w+)\)s[^}]*?\b\1=[\w.]+ \| when\b(?!_)")
    folders = (templating.PACKAGE / "templates", *hook_values("templates"))
    found = {
        path.name
        for folder in folders
        for path in folder.rglob("*.html")
        if relative.search(path.read_text())
    }

    assert found == set()
