"""Jinja2 with autoescaping, and the filters that pages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from features.feature import merged, parts
from review import access, content_covers, ruling_labels, state_wording, wording
from review.decision import trace_wording
from review.http.static_files import static_url
from review.languages import gettext, ngettext, numbers, pgettext, times
from review.languages.catalogues import LANGUAGES
from review.languages.reader import reader
from review.lists.choice_wording import choice_label
from review.shell.icons import icon
from review.shell.menu import menu
from worker.webhooks.types import CANCEL_REASONS

PACKAGE: Final = Path(__file__).parent.parent


class Templates:
    """The templates of the review pages."""

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """The text of a page."""
        return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """One for the process: a template is compiled once, however many applications are built."""
    environment = Environment(
        loader=FileSystemLoader([PACKAGE / "templates", *parts("templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        gettext, ngettext, newstyle=True, pgettext=pgettext
    )
    environment.globals |= {"static": static_url, "icon": icon, "reader": reader.get, "languages": LANGUAGES}
    environment.globals |= {"problems": wording.DRAFT_PROBLEMS, "menu": menu}
    filters: dict[str, Callable[..., object]] = {
        "when": times.time_element,
        "when_clock": times.clock_time_element,
        "when_exact": times.exact_time_element,
        "translated": gettext,
        "role_name": access.role_name,
        "delivery_state": state_wording.delivery_state,
        "localized": numbers.localized,
        "words": breakable_code,
        "how_words": match_wording_with_codes,
        "percent": wording.percent,
        "webhook_cancel_reason": lambda reason: gettext(CANCEL_REASONS[reason]),
        "amount": wording.amount,
        "usd": wording.usd,
        "category_words": content_covers.category_wording,
        "how": wording.match_wording,
        "reason_label": wording.reason_label,
        "span_of": wording.duration_wording,
        "plain": wording.value_wording,
        "decision_label": wording.decision_label,
        "event_type": state_wording.event_type_wording,
        "tier": wording.tier_wording,
        "owner_cause": state_wording.owner_cause,
        "cancel_reason": state_wording.cancel_wording,
        "answer_outcome": state_wording.answer_outcome,
        "held_kind": state_wording.held_kind,
        "stage_name": trace_wording.stage_name,
        "stage_outcome": trace_wording.stage_outcome,
        "severity_name": trace_wording.severity_name,
        "review_source": trace_wording.review_source,
        "measured_subject": trace_wording.measured_subject,
        "setting_title": trace_wording.setting_title,
        "queue_name": state_wording.queue_name,
        "scope_name": state_wording.scope_name,
        "choice_label": choice_label,
        "job_kind": state_wording.job_kind,
        "job_state": state_wording.job_state,
        "review_state": state_wording.review_state,
        "ruling_label": ruling_labels.ruling_label,
        "ruling_reason": ruling_labels.ruling_reason,
        "ruling_effect": ruling_labels.ruling_effect,
        "closing_cause": state_wording.closing_wording,
        **merged("template_filters"),
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
    return f"{wording.match_wording(how)} ({how})"


@lru_cache(maxsize=256)
def breakable_code(code: str) -> Markup:
    """LLM_ERROR, flagged_keyword:scam and other codes, with line break opportunities."""
    return Markup("<wbr>").join(escape(part) for part in PARTS.findall(code))
