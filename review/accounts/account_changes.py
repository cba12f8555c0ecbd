"""What differs between two versions of an account, in words a person can weigh."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from review.accounts.rule_texts import LISTS
from worker.model import Account, FailurePolicy

SHOWN_RULES: Final = 300
TITLES: Final[Mapping[str, str]] = {
    "ai_control_enabled": "AI replies",
    "ai_enabled_for_chats": "AI for chats",
    "ai_enabled_for_comments": "AI for comments",
    "rules_on_reply": "Rules also test the reply",
    "moderation_thresholds": "Moderation thresholds",
    "moderation_failure": "When moderation is down",
    "hold_max_s": "Longest hold, seconds",
    "reply_max_age_s": "Oldest message answered, seconds",
    "languages": "Languages answered in",
    "prompt": "Instructions",
    "assessment_policy": "Confidence policy",
    "fallback_texts": "Fallback texts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """What one list gained and lost; at most ``SHOWN_RULES`` of each are named."""

    title: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    added_count: int
    removed_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting before and after; ``lines`` is the difference of long texts, each with its sign."""

    title: str
    before: str
    after: str
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Everything that differs."""

    rules: tuple[RuleChange, ...]
    settings: tuple[SettingChange, ...]

    @property
    def added(self) -> int:
        """Rules that only the second version has."""
        return sum(each.added_count for each in self.rules)

    @property
    def removed(self) -> int:
        """Rules that only the first version has."""
        return sum(each.removed_count for each in self.rules)


def difference(before: Account, after: Account) -> Difference:
    """What one must do to ``before`` to get ``after``."""
    rules = [
        _rule_change(title, getattr(before, name), getattr(after, name))
        for name, title in LISTS.items()
        if getattr(before, name) != getattr(after, name)
    ]
    settings = [
        change
        for name, title in TITLES.items()
        if getattr(before, name) != getattr(after, name)
        for change in _setting_changes(title, getattr(before, name), getattr(after, name))
    ]
    return Difference(rules=tuple(rules), settings=tuple(settings))


def dangers(before: Account, after: Account) -> tuple[str, ...]:
    """What a change makes riskier, each as a sentence."""
    found = []
    switches = ("ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments")
    if any(getattr(after, name) and not getattr(before, name) for name in switches):
        found.append("AI is switched on where it was off: from then on replies go out to people.")
    if after.moderation_failure is FailurePolicy.ALLOW != before.moderation_failure:
        found.append("While moderation is down, messages are answered without having been moderated.")
    old, new = before.moderation_thresholds, after.moderation_thresholds
    for category in sorted(old.keys() | new.keys()):
        if new.get(category) is not None and new[category] > old.get(category, 0.5):
            found.append(
                f"{category}: only scores from {new[category]:g} on are stopped, so more gets through."
            )
        elif category in old and category not in new:
            found.append(f"{category}: the threshold {old[category]:g} goes, the API's own flag counts.")
        elif category in new and new[category] < old.get(category, 0.5):
            found.append(
                f"{category}: scores from {new[category]:g} on are stopped, so more messages stay silent."
            )
    if before.rules_on_reply and not after.rules_on_reply:
        found.append("Replies are not tested by the account's rules any more.")
    if before.assessment_policy.get("enabled", True) and after.assessment_policy.get("enabled") is False:
        found.append("Replies are sent without being assessed.")
    return tuple(found)


def _rule_change(title: str, before: tuple[str, ...], after: tuple[str, ...]) -> RuleChange:
    added, removed = Counter(after) - Counter(before), Counter(before) - Counter(after)
    return RuleChange(
        title=title,
        added=tuple(added.elements())[:SHOWN_RULES],
        removed=tuple(removed.elements())[:SHOWN_RULES],
        added_count=added.total(),
        removed_count=removed.total(),
    )


def _setting_changes(title: str, before: Any, after: Any) -> list[SettingChange]:  # noqa: ANN401
    if isinstance(before, str) and title == TITLES["prompt"]:
        return [SettingChange(title=title, before="", after="", lines=_lines(before, after))]
    if isinstance(before, Mapping):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        return [
            SettingChange(
                title=f"{title}: {name}", before=_words(before.get(name)), after=_words(after.get(name))
            )
            for name in names
        ]
    return [SettingChange(title=title, before=_words(before), after=_words(after))]


def _lines(before: str, after: str) -> tuple[tuple[str, str], ...]:
    found = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm=""))[2:]
    return tuple(("…", "") if line.startswith("@@") else (line[:1], line[1:]) for line in found)


def _words(value: Any) -> str:  # noqa: ANN401
    match value:
        case None:
            return "nothing"
        case bool():
            return "yes" if value else "no"
        case str():
            return value or "nothing"
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(value) or "any"
    return json.dumps(value, ensure_ascii=False)
