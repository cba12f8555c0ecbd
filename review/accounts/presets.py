"""Three starting points for an account, each a named set of account settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from review.languages import mark
from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS, default_name
from worker.model import Account, FailurePolicy, ReplyMode


class PresetName(StrEnum):
    """The name of a preset."""

    CAREFUL = "careful"
    BALANCED = "balanced"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of settings; the confidence policy keeps its default limit."""

    title: str
    summary: str
    settings: Mapping[str, Any]


COMMON: Final[Mapping[str, Any]] = {"auto_reasons": [], "rules_on_reply": True, "injection_check": True}
PRESETS: Final[Mapping[PresetName, Preset]] = {
    PresetName.CAREFUL: Preset(
        title=mark("Careful"),
        summary=mark("You approve every answer. Nothing is sent while moderation is down."),
        settings={
            **COMMON,
            "reply_mode": ReplyMode.SUGGEST,
            "auto_from_confidence": None,
            "moderation_failure": FailurePolicy.BLOCK,
            "rules_on_passages": True,
        },
    ),
    PresetName.BALANCED: Preset(
        title=mark("Balanced"),
        summary=mark("Answers with a confidence of at least 90 percent are sent; you approve the others."),
        settings={
            **COMMON,
            "reply_mode": ReplyMode.SUGGEST,
            "auto_from_confidence": 0.9,
            "moderation_failure": FailurePolicy.HOLD,
            "rules_on_passages": False,
        },
    ),
    PresetName.OPEN: Preset(
        title=mark("Open"),
        summary=mark("Every answer that the AI can support is sent at once."),
        settings={
            **COMMON,
            "reply_mode": ReplyMode.AUTO,
            "auto_from_confidence": None,
            "moderation_failure": FailurePolicy.HOLD,
            "rules_on_passages": False,
        },
    ),
}
"""Total; from the strictest on. Every preset keeps moderation, the rules on replies and the assessment."""


def preset_changes(name: PresetName, account: Account) -> dict[str, Any]:
    """The changes that a preset makes to an account, for ``worker.account_settings.changed``."""
    return {**PRESETS[name].settings, "assessment_policy": _with_default_limit(account)}


def preset_of(account: Account) -> PresetName | None:
    """The preset that an account follows; None when its settings differ from all of them."""
    for name in PRESETS:
        changes = preset_changes(name, account)
        own = {each: getattr(account, each) for each in changes}
        own |= {each: list(value) for each, value in own.items() if isinstance(value, tuple)}
        if own == changes:
            return name
    return None


def _with_default_limit(account: Account) -> dict[str, Any]:
    """The account's confidence policy with the default limit; another design is left alone."""
    policy = dict(account.assessment_policy)
    if default_name(policy) == DEFAULT_DESIGN:
        policy.pop(DESIGNS[DEFAULT_DESIGN].main_threshold, None)
    return policy
