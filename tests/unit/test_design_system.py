"""The design system: contrasts, icons, and what of the sheet is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from features.feature import hook_values
from review.http.templating import STATIC, icon, icon_names
from review.shell import navigation
from tests.support.colours import DECORATIVE, PAIRS, MeasuredPair, colours, contrast, measured

REVIEW = STATIC.parent
TEMPLATES = sorted(
    path for folder in (REVIEW / "templates", *hook_values("templates")) for path in folder.rglob("*.html")
)


@pytest.mark.parametrize("measure", measured(), ids=lambda each: f"{each.pair.front}-{each.pair.ground}")
def test_a_colour_can_be_told_from_what_it_stands_on(measure: MeasuredPair) -> None:
    """WCAG AA in light and in dark."""
    assert min(measure.light, measure.dark) >= measure.pair.least


def test_every_colour_is_measured() -> None:
    """A new token needs a pair."""
    named = {name for pair in PAIRS for name in (pair.front, pair.ground)}

    assert set(colours()) == named | DECORATIVE


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#ff0000", "#ff0000", 1.0)],
)
def test_contrast_is_the_ratio_of_wcag(one: str, other: str, ratio: float) -> None:
    """Known values, in both directions."""
    assert (round(contrast(one, other), 2), round(contrast(other, one), 2)) == (ratio, ratio)


def test_every_icon_that_pages_name_is_in_the_sprite() -> None:
    """In templates and in the table of the navigation."""
    named = {name for path in TEMPLATES for name in re.findall(r'icon\("([\w-]+)"\)', _text(path))}
    named |= {link.icon for link in navigation.LINKS}

    assert named <= set(icon_names())


def test_an_unknown_icon_is_an_error() -> None:
    """A misspelt name does not become an empty picture."""
    with pytest.raises(KeyError):
        icon("no-such-icon")


def test_every_class_of_the_sheet_is_used() -> None:
    """Rules of markup that is gone are deleted."""
    sheet = re.sub(r"/\*.*?\*/", "", _text(STATIC / "style.css"), flags=re.DOTALL)
    selectors = " ".join(re.findall(r"([^{}]+)\{", sheet))
    classes = set(re.findall(r"\.([a-zA-Z][\w-]*)", selectors))
    pages = [path for folder in hook_values("templates") for path in folder.parent.rglob("*.py")]
    sources = [*TEMPLATES, *STATIC.glob("*.js"), *REVIEW.rglob("*.py"), *pages]
    words = {word for path in sources for word in re.findall(r"[\w-]+", _text(path))}

    assert classes - words == set()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
