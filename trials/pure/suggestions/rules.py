"""Rules that overturns would retire or narrow, tried by the matcher on the reviewed messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, assert_never

from trials.pure.suggestions.model import (
    LearningSuggestion,
    SeenMessage,
    SettingEdit,
    SuggestionKind,
    decision_times,
    edited_settings,
)
from trials.pure.suggestions.words import word_runs
from worker.model import Account
from worker.rules import RuleKind, compile_account_rules
from worker.statistics.shares import Observation, Share, weighted_share, wilson

LEAST_OVERTURNED: Final = 3
LEAST_RELEASED: Final = 0.5
"""Least part of the overturned messages that a narrower rule releases."""
RETIRED_BELOW: Final = 0.5
"""A rule is retired when its precision is certainly below this."""
MOST_RULES: Final = 20
MOST_RUNS: Final = 40
MOST_VERIFIED: Final = 5
EXAMPLES: Final = 5
LISTS: Final[Mapping[str, str]] = {
    f"flagged_{RuleKind.KEYWORD}": "flagged_keywords",
    f"flagged_{RuleKind.PHRASE}": "flagged_phrases",
}
"""Total; the setting that holds the rules of a kind."""


class RuleAction(StrEnum):
    """What a suggestion does to a rule; stored, never renamed."""

    ALLOW = "allow"
    PHRASE = "phrase"
    RETIRE = "retire"


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowedRule:
    """One way to change a rule, tried on its reviewed messages.

    Attributes:
        added: the entry of the allow list or the phrase; empty when the rule is retired.
        released: overturned messages that no rule stops any more.
        lost: upheld messages that no rule stops any more.
    """

    action: RuleAction
    added: str
    released: int
    lost: int


def rule_suggestions(account: Account, reviewed: Sequence[SeenMessage]) -> tuple[LearningSuggestion, ...]:
    """The rules in force that reviews would change, those with most overturns first.

    Args:
        account: with the rules in force.
        reviewed: messages that a rule of the account stopped, with their rulings.
    """
    groups: dict[str, list[SeenMessage]] = defaultdict(list)
    for each in reviewed:
        if each.ruling and _in_force(account, each.rule):
            groups[each.rule].append(each)
    ordered = sorted(groups.items(), key=lambda item: (-_overturns(item[1]), item[0]))[:MOST_RULES]
    found = (_suggestion(account, label, messages) for label, messages in ordered)
    return tuple(each for each in found if each is not None)


def rule_precision(messages: Iterable[SeenMessage]) -> tuple[Share | None, bool]:
    """How often a rule was right with its interval, and whether reviews of samples, weighted, say so.

    Without a review of a sample all reviews count alike; they say nothing of the messages not reviewed.
    """
    held = tuple(messages)
    sampled = [
        Observation(hit=each.ruling == "agree", weight=each.weight)
        for each in held
        if each.weight is not None
    ]
    if sampled:
        return weighted_share(sampled), True
    return wilson(sum(each.ruling == "agree" for each in held), len(held)), False


def rule_edits(label: str, action: RuleAction, added: str) -> tuple[SettingEdit, ...]:
    """What a candidate changes."""
    name, rule = _place(label)
    match action:
        case RuleAction.ALLOW:
            return (SettingEdit(setting="allowed", added=(added,)),)
        case RuleAction.RETIRE:
            return (SettingEdit(setting=name, removed=(rule,)),)
        case RuleAction.PHRASE if name == "flagged_phrases":
            return (SettingEdit(setting=name, added=(added,), removed=(rule,)),)
        case RuleAction.PHRASE:
            phrase = SettingEdit(setting="flagged_phrases", added=(added,))
            return (SettingEdit(setting=name, removed=(rule,)), phrase)
        case _:
            assert_never(action)


def _suggestion(account: Account, label: str, messages: Sequence[SeenMessage]) -> LearningSuggestion | None:
    precision, sampled = rule_precision(messages)
    if precision is None or _overturns(messages) < LEAST_OVERTURNED:
        return None
    change = _narrower(account, label, messages)
    if change is None and precision.high < RETIRED_BELOW:
        change = _tried(account, label, RuleAction.RETIRE, "", messages)
    if change is None or not change.released:
        return None
    overturned = [each for each in messages if each.ruling == "overturn"]
    return LearningSuggestion(
        kind=SuggestionKind.RULE,
        key=label,
        evidence={
            "rule": label.partition(":")[2],
            "action": change.action.value,
            "added": change.added,
            "overturned": len(overturned),
            "upheld": len(messages) - len(overturned),
            "precision": {"share": precision.share, "low": precision.low, "high": precision.high},
            "sampled": sampled,
            "released": change.released,
            "lost": change.lost,
        },
        edits=rule_edits(label, change.action, change.added),
        decisions=decision_times(overturned[:EXAMPLES]),
    )


def _narrower(account: Account, label: str, messages: Sequence[SeenMessage]) -> NarrowedRule | None:
    """The change that releases most overturned messages and keeps every upheld one; None without one.

    All ways are tried with the rule alone, the best of them with all rules: large sets take time to compile.
    """
    overturned = [each for each in messages if each.ruling == "overturn"]
    upheld = [each for each in messages if each.ruling == "agree"]
    alone = _with_one_rule(account, label)
    ways = [(RuleAction.ALLOW, run) for run in _runs(overturned, upheld)]
    ways += [(RuleAction.PHRASE, run) for run in _runs(upheld, overturned)]
    tried = (_tried(alone, label, action, run, messages) for action, run in ways)
    good = sorted((each for each in tried if _is_good(each, len(overturned))), key=_best_first)
    for each in good[:MOST_VERIFIED]:
        verified = _tried(account, label, each.action, each.added, messages)
        if _is_good(verified, len(overturned)):
            return verified
    return None


def _with_one_rule(account: Account, label: str) -> Account:
    name, rule = _place(label)
    is_phrase = name == "flagged_phrases"
    return replace(
        account,
        flagged_keywords=() if is_phrase else (rule,),
        flagged_phrases=(rule,) if is_phrase else (),
    )


def _is_good(tried: NarrowedRule, overturned: int) -> bool:
    return tried.lost == 0 and tried.released >= max(2, LEAST_RELEASED * overturned)


def _best_first(tried: NarrowedRule) -> tuple[int, str, int, str]:
    return -tried.released, tried.action, len(tried.added), tried.added


def _tried(
    account: Account, label: str, action: RuleAction, added: str, messages: Sequence[SeenMessage]
) -> NarrowedRule:
    """What the changed rules do with the messages, by the matcher that decides."""
    after = edited_settings(account, rule_edits(label, action, added))
    lists = {name: tuple(after.get(name, getattr(account, name))) for name in (*LISTS.values(), "allowed")}
    changed = replace(
        account,
        flagged_keywords=lists["flagged_keywords"],
        flagged_phrases=lists["flagged_phrases"],
        allowed=lists["allowed"],
    )
    rules = compile_account_rules(changed)
    free = [each for each in messages if not rules.match(each.text)]
    return NarrowedRule(
        action=action,
        added=added,
        released=sum(each.ruling == "overturn" for each in free),
        lost=sum(each.ruling == "agree" for each in free),
    )


def _runs(wanted: Sequence[SeenMessage], unwanted: Sequence[SeenMessage]) -> list[str]:
    """Runs of words of at least two authors of ``wanted`` and of no message in ``unwanted``, most first."""
    authors: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for each in wanted:
        runs = word_runs(each.text)
        counts.update(runs)
        for run in runs:
            authors[run].add(each.author)
    taken = frozenset(run for each in unwanted for run in word_runs(each.text))
    named = [run for run in counts if counts[run] > 1 and len(authors[run]) > 1 and run not in taken]
    return sorted(named, key=lambda run: (-counts[run], len(run), run))[:MOST_RUNS]


def _place(label: str) -> tuple[str, str]:
    """The setting that holds a rule, and the rule as written."""
    kind, _, rule = label.partition(":")
    return LISTS[kind], rule


def _in_force(account: Account, label: str) -> bool:
    kind, _, rule = label.partition(":")
    return kind in LISTS and rule in getattr(account, LISTS[kind])


def _overturns(messages: Sequence[SeenMessage]) -> int:
    return sum(each.ruling == "overturn" for each in messages)
