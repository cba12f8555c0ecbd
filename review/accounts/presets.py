"""Three starting points for an account, each a named set of account settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from review.languages import mark
from worker.assessment.policies.designs import DEFAULT_DESIGN, default_name
from worker.model import Account, FailurePolicy, ReplyMode


class PresetName(StrEnum):
    """The name of a preset."""

    CAREFUL = "careful"
    BALANCED = "balanced"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A named set of settings; ``policy`` holds fields of the confidence policy, None for its default."""

    title: str
    summary: str
    settings: Mapping[str, Any]
    policy: Mapping[str, float | None]


PRESETS: Final[Mapping[PresetName, Preset]] = {
    PresetName.CAREFUL: Preset(
        title=mark("Careful"),
        summary=mark("You approve every answer. Nothing is sent while moderation is down."),
        settings={
            "reply_mode": ReplyMode.SUGGEST,
            "auto_from_confidence": None,
            "auto_reasons": [],
            "moderation_failure": FailurePolicy.BLOCK,
            "rules_on_reply": True,
            "rules_on_passages": True,
            "injection_check": True,
        },
        policy={"send_at": None},
    ),
    PresetName.BALANCED: Preset(
        title=mark("Balanced"),
        summary=mark("Answers with a confidence of at least 90 percent are sent; you approve the others."),
        settings={
            "reply_mode": ReplyMode.SUGGEST,
            "auto_from_confidence": 0.9,
            "auto_reasons": [],
            "moderation_failure": FailurePolicy.HOLD,
            "rules_on_reply": True,
            "rules_on_passages": False,
            "injection_check": True,
        },
        policy={"send_at": None},
    ),
    PresetName.OPEN: Preset(
        title=mark("Open"),
        summary=mark("Every answer that the AI can support is sent at once."),
        settings={
            "reply_mode": ReplyMode.AUTO,
            "auto_from_confidence": None,
            "auto_reasons": [],
            "moderation_failure": FailurePolicy.HOLD,
            "rules_on_reply": True,
            "rules_on_passages": False,
            "injection_check": True,
        },
        policy={"send_at": None},
    ),
}
"""Total; from the strictest on. Every preset keeps moderation, the rules on replies and the assessment."""


def preset_changes(name: PresetName, account: Account) -> dict[str, Any]:
    """The changes that a preset makes to an account, for ``worker.account_settings.changed``."""
    preset = PRESETS[name]
    return {**preset.settings, "assessment_policy": with_policy_fields(account, preset.policy)}


def with_policy_fields(account: Account, fields: Mapping[str, float | None]) -> dict[str, Any]:
    """The account's confidence policy with these fields; None removes one, another design is left alone."""
    policy = dict(account.assessment_policy)
    if default_name(policy) != DEFAULT_DESIGN:
        return policy
    kept = {name: value for name, value in policy.items() if name not in fields}
    return kept | {name: value for name, value in fields.items() if value is not None}


def preset_of(account: Account) -> PresetName | None:
    """The preset that an account follows; None when its settings differ from all of them."""
    for name, preset in PRESETS.items():
        own = {each: getattr(account, each) for each in preset.settings}
        own |= {each: list(value) for each, value in own.items() if isinstance(value, tuple)}
        policy = with_policy_fields(account, preset.policy)
        if own == dict(preset.settings) and policy == dict(account.assessment_policy):
            return name
    return None
