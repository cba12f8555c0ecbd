"""The differences between two versions of an account, in words, and their risks."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from review.accounts.moderator_fields import part_texts
from review.accounts.policy_fields import PolicyOption, options_of
from review.accounts.rule_texts import LISTS
from review.content_covers import category_wording
from review.languages import gettext as _
from review.languages.numbers import localized
from review.typed.durations import duration_in_unit
from worker.account_settings import SETTINGS, kind_of
from worker.assessment.policies.designs import default_name
from worker.model import Account, ModeratorChoice
from worker.moderator_settings import MODERATOR_PARTS
from worker.setting_description import Risk, SettingKind

SHOWN_RULES: Final = 300
POLICY: Final = "assessment_policy"
TITLES: Final[Mapping[str, str]] = {
    name: each.short_title for name, each in SETTINGS.items() if name not in LISTS
}
"""Without the unit, which is shown with the value."""


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
    """One setting before and after, in the reader's language.

    Attributes:
        title: in English, as catalogues have it.
        key: of an entry of a mapping, such as a category; else empty.
        lines: the difference of long texts, each with its sign.
    """

    title: str
    key: str = ""
    before: str
    after: str
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """What changed, in English, for the access log."""
        return f"{self.title}: {self.key}" if self.key else self.title


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
        change for name in TITLES if name in changed for change in _setting_changes(name, *changed[name])
    ]
    return AccountDifference(rules=tuple(rules), settings=tuple(settings))


def change_warnings(before: Account, after: Account) -> tuple[str, ...]:
    """The risks that a change adds, one sentence each."""
    found = (
        _(risk.text) % {**risk.values, **_in_words(risk)}
        for name, setting in SETTINGS.items()
        for risk in setting.warnings(getattr(before, name), getattr(after, name))
    )
    return tuple(dict.fromkeys(found))


def _in_words(risk: Risk) -> dict[str, str]:
    """The values of a risk that have words in the reader's language."""
    category = risk.values.get("category")
    return {} if category is None else {"category": category_wording(category)}


def _rule_change(title: str, before: tuple[str, ...], after: tuple[str, ...]) -> RuleChange:
    added, removed = Counter(after) - Counter(before), Counter(before) - Counter(after)
    return RuleChange(
        title=title,
        added=tuple(added.elements())[:SHOWN_RULES],
        removed=tuple(removed.elements())[:SHOWN_RULES],
        added_count=added.total(),
        removed_count=removed.total(),
    )


def _setting_changes(name: str, before: Any, after: Any) -> list[SettingChange]:
    title, kind = TITLES[name], kind_of(name)
    if kind is SettingKind.RECORDS:
        before, after = _moderators(before), _moderators(after)
    if kind in {SettingKind.RECORDS, SettingKind.TEXT}:
        return [SettingChange(title=title, before="", after="", lines=_lines(before, after))]
    if isinstance(before, Mapping):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        options = {each.path: each for each in options_of(default_name(after))} if name == POLICY else {}
        return [_entry_change(name, key, before.get(key), after.get(key), options.get(key)) for key in keys]
    return [SettingChange(title=title, before=setting_words(name, before), after=setting_words(name, after))]


def setting_words(name: str, value: Any) -> str:
    """The value of a setting in the reader's language."""
    match kind_of(name):
        case SettingKind.DURATION:
            return duration_in_unit(value)
        case SettingKind.SHARE:
            return _percent(value)
        case SettingKind.CHOICE:
            return _(SETTINGS[name].choices.get(value, value))
        case SettingKind.RECORDS:
            return _moderators(value) or _("nothing")
    return _words(value)


def _entry_change(name: str, key: str, before: Any, after: Any, option: PolicyOption | None) -> SettingChange:
    """One entry of a mapping; an option of a policy is named by its help, and has its default while empty."""
    is_share = name == "moderation_thresholds" or (option is not None and option.shape == "share")
    words = _percent if is_share else _words
    if option is None:
        return SettingChange(title=TITLES[name], key=key, before=words(before), after=words(after))
    default = f"{option.default} %" if is_share else option.default
    shown = (
        _("default: %(value)s") % {"value": default} if each is None and option.default else words(each)
        for each in (before, after)
    )
    return SettingChange(title=option.help, before=next(shown), after=next(shown))


def _percent(share: float | None) -> str:
    return _("not set") if share is None else localized(f"{100 * share:.10g} %")


def _moderators(chosen: tuple[ModeratorChoice, ...]) -> str:
    """Moderators as lines, each part with its title."""
    lines = [
        f"{row}. {_(MODERATOR_PARTS[part].title)}: {line}"
        for row, each in enumerate(chosen, 1)
        for part, text in part_texts(each).items()
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def _lines(before: str, after: str) -> tuple[tuple[str, str], ...]:
    found = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm=""))[2:]
    return tuple(("…", "") if line.startswith("@@") else (line[:1], line[1:]) for line in found)


def _words(value: Any) -> str:
    match value:
        case None:
            return _("nothing")
        case bool():
            return _("yes") if value else _("no")
        case str():
            return value or _("nothing")
        case float():
            return localized(f"{value:g}")
        case tuple():
            return ", ".join(value) or _("any")
    if isinstance(value, Mapping):
        value = [f"{key}: {_words(each)}" for key, each in value.items()]
    return "\n".join(map(_words, value)) or _("nothing") if isinstance(value, list) else str(value)
