"""Jinja2 with autoescaping, the filters that pages share, icons and static files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from features.feature import hook_mapping, hook_values
from review import access, content_covers
from review.languages import gettext, numbers, times, worded
from review.languages.catalogues import LANGUAGES
from review.languages.reader import reader
from review.languages.template_texts import plural_text, text, text_in_context
from review.shell.account_tabs import account_tabs, more_tabs
from review.shell.menu import menu
from review.words import choices, decisions, states, traces
from review.words.choices import choice_label
from worker.displayed.direction import DIRECTION_CONTROL
from worker.webhooks.types import CANCEL_REASONS

STATIC: Final = Path(__file__).parent.parent / "static"


def static_url(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may cache it forever."""
    return f"/static/{name}?v={_fingerprint(name)}"


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


SPRITE: Final = "vendor/lucide-1.62.0.svg"
"""Written by ``python -m tools.icons``."""
SYMBOL: Final = re.compile(r'<symbol id="([a-z0-9-]+)"')


@cache
def icon_names() -> tuple[str, ...]:
    """The icons of the sprite."""
    return tuple(SYMBOL.findall((STATIC / SPRITE).read_text(encoding="utf-8")))


@lru_cache(maxsize=256)
def icon(name: str) -> Markup:
    """An icon beside a text; a button with only an icon needs a hidden text or an ``aria-label``.

    Raises:
        KeyError: the sprite has no such icon.
    """
    if name not in icon_names():
        raise KeyError(name)
    shape = f'<use href="{static_url(SPRITE)}#{name}"/>'
    shown = f'<svg class="icon" aria-hidden="true" focusable="false">{shape}</svg>'
    return Markup(shown)  # noqa: S704  # a known name


PACKAGE: Final = Path(__file__).parent.parent


class Templates:
    """The templates of the review pages."""

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """The text of a page."""
        return with_direction_codes(_environment().get_template(template).render(values))


PIECE: Final = re.compile(
    r'<(title|textarea|option|script|style)\b.*?</\1>|<bdi class="invisible".*?</bdi>|<[^>]*>|'
    rf"(?P<control>{DIRECTION_CONTROL.pattern})",
    re.DOTALL,
)
"""What stays as it is: elements that hold text only, codes that are shown, tags; else a control."""


def with_direction_codes(html: str) -> str:
    """HTML that shows the code of each direction control, which then displays nothing in another order."""
    if not DIRECTION_CONTROL.search(html):
        return html
    shown = '<bdi class="invisible" data-code="U+{:04X}">{}</bdi>'
    return PIECE.sub(lambda each: shown.format(ord(each[0]), each[0]) if each["control"] else each[0], html)


@cache
def _environment() -> Environment:
    """One for the process: a template is compiled once, however many applications are built."""
    environment = Environment(
        loader=FileSystemLoader([PACKAGE / "templates", *hook_values("templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.newstyle_gettext = True  # type: ignore[attr-defined]  # values are arguments, in trans too
    environment.globals |= {"_": text, "gettext": text, "ngettext": plural_text, "pgettext": text_in_context}
    environment.globals |= {"static": static_url, "icon": icon, "reader": reader.get, "languages": LANGUAGES}
    environment.globals |= {"problems": decisions.DRAFT_PROBLEMS, "menu": menu}
    environment.globals |= {"account_tabs": account_tabs, "more_tabs": more_tabs}
    filters: dict[str, Callable[..., object]] = {
        "when": times.time_element,
        "when_clock": times.clock_time_element,
        "when_exact": times.exact_time_element,
        "translated": gettext,
        "role_name": access.role_name,
        "role_on": access.role_on,
        "delivery_state": worded(states.DELIVERY_STATES),
        "localized": numbers.localized,
        "words": breakable_code,
        "how_words": match_wording_with_codes,
        "percent": decisions.percent,
        "webhook_cancel_reason": worded(CANCEL_REASONS),
        "amount": decisions.amount,
        "usd": decisions.usd,
        "category_words": content_covers.category_wording,
        "how": decisions.match_wording,
        "reason_label": decisions.reason_label,
        "span_of": decisions.duration_wording,
        "plain": decisions.value_wording,
        "decision_label": decisions.decision_label,
        "check_outcome": worded(states.CHECK_OUTCOMES),
        "event_type": worded(states.EVENT_TYPES),
        "tier": decisions.tier_wording,
        "owner_cause": worded(states.OWNER_CAUSES),
        "cancel_reason": worded(states.CANCEL_REASONS),
        "answer_outcome": worded(states.ANSWER_OUTCOMES),
        "answer_state": worded(states.ANSWER_STATES),
        "held_kind": worded(states.HELD_KINDS),
        "stage_name": worded(traces.STAGES),
        "stage_outcome": traces.stage_outcome,
        "severity_name": worded(traces.SEVERITIES),
        "review_source": worded(traces.SOURCES),
        "measured_subject": worded(traces.MEASURED),
        "setting_title": traces.setting_title,
        "queue_name": states.queue_name,
        "scope_name": worded(states.SCOPES),
        "choice_label": choice_label,
        "job_kind": worded(states.JOB_KINDS),
        "job_state": worded(states.JOB_STATES),
        "review_state": worded(states.REVIEW_STATES),
        "ruling_label": worded(choices.RULINGS),
        "ruling_reason": choices.ruling_reason,
        "ruling_effect": choices.ruling_effect,
        "closing_cause": worded(states.CLOSING_CAUSES),
        **hook_mapping("template_filters"),
    }
    environment.filters |= {name: _at_rendering(filters[name]) for name in filters}
    return environment


def _at_rendering(filter_: Callable[..., object]) -> Callable[..., object]:
    """The filter, never applied while a template is compiled: the first reader's language would stay."""

    @pass_context
    def applied(_context: Context, *values: object, **options: object) -> object:
        return filter_(*values, **options)

    return applied


PARTS: Final = re.compile(r"[^_:]*[_:]|[^_:]+")
"""The parts of a code: up to each underscore or colon."""


def match_wording_with_codes(how: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words, with the stored codes."""
    return f"{decisions.match_wording(how)} ({how})"


@lru_cache(maxsize=256)
def breakable_code(code: str) -> Markup:
    """LLM_ERROR, flagged_keyword:scam and other codes, with line break opportunities."""
    return Markup("<wbr>").join(escape(part) for part in PARTS.findall(code))
