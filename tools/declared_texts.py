"""English texts that are declared below the pages, where nothing can mark them: reasons, settings, filters.

Pages translate them where they show them, by ``gettext`` or the filter ``translated``.
"""

from __future__ import annotations

from collections.abc import Iterator

from db.reviews.rulings import RulingReason
from review.lists.filter_fields import FIELDS
from worker.account_settings import SETTINGS
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.policies.option_help import ACTION_WORDS, OPTION_HELP
from worker.moderator_settings import MODERATOR_PARTS
from worker.presets import PRESETS, Need
from worker.reasons import Reason
from worker.setting_description import RiskText, Section
from worker.webhooks.types import CANCEL_REASONS


def texts() -> Iterator[tuple[str, str]]:
    """Each text with the file that declares it."""
    for reason in Reason:
        for text in (reason.spec.label, reason.spec.explanation):
            if text:
                yield text, "worker/reasons.py"
    for setting in (*SETTINGS.values(), *MODERATOR_PARTS.values()):
        for text in (
            setting.title,
            setting.short_title,
            setting.sentence,
            setting.help,
            *setting.choices.values(),
        ):
            if text:
                yield text, "worker/account_settings.py"
    for text in (*RiskText, *Section):
        yield text.value, "worker/setting_description.py"
    for ruling_reason in RulingReason:
        yield ruling_reason.label, "db/reviews/rulings.py"
    for text in CANCEL_REASONS.values():
        yield text, "worker/webhooks/types.py"
    yield from _of_presets()
    yield from _of_policies()
    yield from _of_filters()


def _of_filters() -> Iterator[tuple[str, str]]:
    for field in FIELDS:
        yield field.title, "review/lists/filter_fields.py"
        if " " in field.example:  # the others are values
            yield field.example, "review/lists/filter_fields.py"


def _of_presets() -> Iterator[tuple[str, str]]:
    for text in (*(text for each in PRESETS.values() for text in (each.title, each.summary)), *Need):
        yield str(text), "worker/presets.py"


def _of_policies() -> Iterator[tuple[str, str]]:
    for text in (*OPTION_HELP.values(), *ACTION_WORDS.values()):
        yield text, "worker/assessment/policies/option_help.py"
    for design in DESIGNS.values():
        of_limits = (text for each in design.limits for text in (each.measure, each.effect, each.subject))
        for text in (design.summary, *design.problems.values(), *of_limits):
            yield text, "worker/assessment/policies"
