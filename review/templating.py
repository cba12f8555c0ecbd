"""Jinja2 with everything escaped, and the few filters that pages share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from review import care
from review.lists import reasons
from review.story import wording
from worker.rules.model import How

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"


class Templates:
    """The templates of the review pages."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals["static"] = static
        self._environment.filters |= {"when": when, "percent": percent, "amount": amount, "words": words}
        self._environment.filters |= {"category_words": care.words, "how": wording.how}
        self._environment.filters["said"] = reasons.said
        self._environment.filters |= {"span_of": wording.span_of, "plain": wording.plain}
        self._environment.filters["how_words"] = how_words

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """The text of a page."""
        return self._environment.get_template(template).render(values)


HOW: Final = {
    How.EXACT: "as written",
    How.CASE: "other case",
    How.WIDTH: "other letter forms",
    How.ACCENT: "accents folded",
    How.VARIANT: "spelling variant",
    How.HOMOGLYPH: "look-alike letters",
    How.LEET: "digits or signs for letters",
    How.REPEAT: "stretched",
    How.INVISIBLE: "invisible characters inside",
    How.SEPARATED: "letters set apart",
    How.GLUED: "words run together",
    How.MASKED: "letters masked",
    How.TYPO: "one typo",
    How.REGEX: "regular expression",
}


def how_words(how: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words, with the stored word behind."""
    return f"{', '.join(HOW[How(each)] for each in how.split('+'))} ({how})"


def static(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may keep it for ever."""
    return f"/static/{name}?v={_fingerprint(name)}"


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def when(moment: datetime | None) -> Markup:
    """A moment, UTC, to the second, as a <time> element."""
    if moment is None:
        return Markup("–")
    at = moment.astimezone(UTC)
    shown = f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M:%S}</time>'
    return Markup(shown)  # noqa: S704  # digits and signs of a moment; a list has fifty of them


def percent(share: float | None) -> str:
    """A share of 0..1 in percent, one decimal below ten."""
    if share is None:
        return "–"
    return f"{share * 100:.1f} %" if abs(share) < 0.1 else f"{share * 100:.0f} %"


def amount(number: float | None) -> str:
    """A number with a thin space between thousands."""
    if number is None:
        return "–"
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


@lru_cache(maxsize=256)
def words(code: str) -> Markup:
    """A code such as LLM_ERROR, broken where a narrow screen may break it."""
    return Markup("_<wbr>").join(escape(part) for part in code.split("_"))
