"""Jinja2 with autoescaping, and the filters that pages share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from review import content_covers, ruling_labels, wording
from review.languages import gettext, ngettext
from worker.webhooks.types import CANCEL_REASONS

PACKAGE: Final = Path(__file__).parent.parent
STATIC: Final = PACKAGE / "static"


class Templates:
    """The templates of the review pages."""

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """The text of a page."""
        return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """One for the process: a template is compiled once, however many applications are built."""
    environment = Environment(
        loader=FileSystemLoader(PACKAGE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.globals["static"] = static_url
    environment.filters |= {
        "when": time_element,
        "words": breakable_code,
        "how_words": match_wording_with_codes,
        "percent": wording.percent,
        "webhook_cancel_reason": CANCEL_REASONS.__getitem__,
        "amount": wording.amount,
        "usd": wording.usd,
        "category_words": content_covers.category_wording,
        "how": wording.match_wording,
        "reason_label": wording.reason_label,
        "span_of": wording.duration_wording,
        "plain": wording.value_wording,
        "decision_label": wording.decision_label,
        "event_type": wording.event_type_wording,
        "tier": wording.tier_wording,
        "owner_cause": wording.owner_cause,
        "cancel_reason": wording.cancel_wording,
        "answer_outcome": wording.answer_outcome,
        "held_kind": wording.held_kind,
        "ruling_label": ruling_labels.ruling_label,
        "ruling_reason": ruling_labels.ruling_reason,
        "closing_cause": wording.closing_wording,
    }
    return environment


PARTS: Final = re.compile(r"[^_:]*[_:]|[^_:]+")
"""The parts of a code: up to each underscore or colon."""


def match_wording_with_codes(how: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words, with the stored codes."""
    return f"{wording.match_wording(how)} ({how})"


def static_url(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may cache it forever."""
    return f"/static/{name}?v={_fingerprint(name)}"


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def time_element(moment: datetime | None) -> Markup:
    """A time, UTC, to the second, as a <time> element."""
    if moment is None:
        return Markup("–")
    at = moment.astimezone(UTC)
    shown = f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M:%S}</time>'
    return Markup(shown)  # noqa: S704  # digits and punctuation of a time; a list has fifty of them


@lru_cache(maxsize=256)
def breakable_code(code: str) -> Markup:
    """LLM_ERROR, flagged_keyword:scam and other codes, with line break opportunities."""
    return Markup("<wbr>").join(escape(part) for part in PARTS.findall(code))
