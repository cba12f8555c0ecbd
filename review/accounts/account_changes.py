"""The differences between two versions of an account, in words, and their risks."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from review.accounts.moderator_fields import part_texts
from review.accounts.rule_texts import LISTS
from review.languages import mark
from review.owner.durations import as_number_and_unit
from worker.account_settings import SETTINGS, kind_of
from worker.model import Account, ModeratorChoice
from worker.moderator_settings import MODERATOR_PARTS
from worker.setting import SettingKind

SHOWN_RULES: Final = 300
TITLES: Final[Mapping[str, str]] = {name: each.title for name, each in SETTINGS.items() if name not in LISTS}

LIMIT: Final = mark("Never send an answer when the AI is sure by less than")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """Rules added to and removed from one list; at most ``SHOWN_RULES`` of each are named."""

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
class AccountDifference:
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


def difference(before: Account, after: Account) -> AccountDifference:
    """The changes that turn ``before`` into ``after``."""
    values = {name: (getattr(before, name), getattr(after, name)) for name in SETTINGS}
    changed = {name: pair for name, pair in values.items() if pair[0] != pair[1]}
    rules = [_rule_change(title, *changed[name]) for name, title in LISTS.items() if name in changed]
    settings = [
        change
        for name, title in TITLES.items()
        if name in changed
        for change in _setting_changes(name, title, *changed[name])
    ]
    return AccountDifference(rules=tuple(rules), settings=tuple(settings))


def change_warnings(before: Account, after: Account) -> tuple[str, ...]:
    """The risks that a change adds, one sentence each."""
    found = (
        warning
        for name, setting in SETTINGS.items()
        for warning in setting.warnings(getattr(before, name), getattr(after, name))
    )
    return tuple(dict.fromkeys(found))


def _rule_change(title: str, before: tuple[str, ...], after: tuple[str, ...]) -> RuleChange:
    added, removed = Counter(after) - Counter(before), Counter(before) - Counter(after)
    return RuleChange(
        title=title,
        added=tuple(added.elements())[:SHOWN_RULES],
        removed=tuple(removed.elements())[:SHOWN_RULES],
        added_count=added.total(),
        removed_count=removed.total(),
    )


def _setting_changes(name: str, title: str, before: Any, after: Any) -> list[SettingChange]:
    if kind_of(name) is SettingKind.RECORDS:
        lines = _lines(_moderators(before), _moderators(after))
        return [SettingChange(title=title, before="", after="", lines=lines)]
    if kind_of(name) is SettingKind.TEXT:
        return [SettingChange(title=title, before="", after="", lines=_lines(before, after))]
    if name.endswith("_s"):
        before, after, title = _duration(before), _duration(after), title.removesuffix(", seconds")
    if isinstance(before, Mapping):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        values = [_entry_change(name, title, key, before.get(key), after.get(key)) for key in keys]
    else:
        values = [(title, before, after)]
    return [SettingChange(title=each, before=_words(old), after=_words(new)) for each, old, new in values]


def _entry_change(name: str, title: str, key: str, before: Any, after: Any) -> tuple[str, Any, Any]:
    """One entry of a mapping; the limit that owners set is named and shown as on their page."""
    if (name, key) != ("assessment_policy", "send_at"):
        return f"{title}: {key}", before, after
    return LIMIT, _percent(before), _percent(after)


def _percent(share: float | None) -> str:
    return "recommended" if share is None else f"{100 * share:.15g} %"


def _moderators(chosen: tuple[ModeratorChoice, ...]) -> str:
    """Moderators as lines, each part with its title."""
    lines = [
        f"{row}. {MODERATOR_PARTS[part].title}: {line}"
        for row, each in enumerate(chosen, 1)
        for part, text in part_texts(each).items()
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def _lines(before: str, after: str) -> tuple[tuple[str, str], ...]:
    found = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm=""))[2:]
    return tuple(("…", "") if line.startswith("@@") else (line[:1], line[1:]) for line in found)


def _duration(seconds: float) -> str:
    """A number and a unit, such as ``5 minutes``."""
    number, unit = as_number_and_unit(seconds)
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def _words(value: Any) -> str:
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
