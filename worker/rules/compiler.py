"""Compiles stored strings to a rule set; broken rules are reported and skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import daachorse

from worker.errors import RuleRejected
from worker.model import Account, RuleLevel
from worker.rules.compiled import CompiledParts, CompiledRules
from worker.rules.conditions import COUNTED
from worker.rules.folding.forms import rule_forms
from worker.rules.model import ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.regexes import MAX_REGEXES, compile_regex
from worker.rules.syntax import MIN_FUZZY, parse_rule

MAX_FUZZY_RULES = 1_000
"""Most fuzzy rules in one set; their index needs about 3 kB each."""
MIN_REACH = 48
"""Least ``reach``: characters around a sign or a stretched letter that are read again with it."""
RuleSettings: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], RuleLevel]
"""Keywords, phrases, allowed texts and the level; accounts with equal ones match alike."""


def rule_settings(account: Account) -> RuleSettings:
    """The settings that decide what the rules of an account match."""
    return account.flagged_keywords, account.flagged_phrases, account.allowed, account.rule_level


def compile_account_rules(account: Account) -> CompiledRules:
    """The rules of an account at its version and its level."""
    return compile_rules(
        account.flagged_keywords,
        account.flagged_phrases,
        allow=account.allowed,
        version=account.version,
        level=account.rule_level,
    )


def compile_rules(
    keywords: Sequence[str],
    phrases: Sequence[str] = (),
    *,
    allow: Sequence[str] = (),
    version: int,
    level: RuleLevel = RuleLevel.DEFAULT,
) -> CompiledRules:
    """The rules of one account at one version, ready to match.

    ``allow`` lists texts that cancel the hits inside them, like a keyword written ``... {allow}``.
    """
    written = [(rule, RuleKind.KEYWORD) for rule in keywords]
    written += [(rule, RuleKind.PHRASE) for rule in phrases]
    written += [(as_allowed(rule), RuleKind.PHRASE) for rule in allow]
    problems: list[RuleProblem] = []
    rules = list(_working(dict.fromkeys(written), problems))
    return CompiledRules(_parts(rules), version=version, level=level, problems=tuple(problems))


def as_allowed(rule: str) -> str:
    """An allowed text as the rule that cancels hits, with the switch ``allow``."""
    body = rule.rstrip()
    if body.endswith("}") and "{" in body:
        return body if Switch.ALLOW in body[body.rindex("{") :] else f"{body[:-1]}, {Switch.ALLOW}}}"
    return f"{body} {{{Switch.ALLOW}}}"


def _working(
    written: Iterable[tuple[str, RuleKind]], problems: list[RuleProblem]
) -> Iterator[tuple[Rule, RuleKind]]:
    regexes = fuzzy = 0
    for text, kind in written:
        try:
            rule = parse_rule(text, kind)
            regexes += rule.kind is RuleKind.REGEX
            fuzzy += rule.fuzzy
            _admit(rule, regexes=regexes, fuzzy=fuzzy)
        except RuleRejected as error:
            problems.append(
                RuleProblem(level=ProblemLevel.ERROR, rule=error.rule, code="broken", message=error.reason)
            )
            continue
        yield rule, kind


def _admit(rule: Rule, *, regexes: int, fuzzy: int) -> None:
    """Refuse a rule that is one too many of its kind, or a regex that RE2 does not take."""
    if rule.fuzzy and fuzzy > MAX_FUZZY_RULES:
        raise RuleRejected(rule.written, f"expected at most {MAX_FUZZY_RULES} fuzzy rules in one set")
    if rule.kind is RuleKind.REGEX:
        if regexes > MAX_REGEXES:
            raise RuleRejected(rule.written, f"expected at most {MAX_REGEXES} regexes in one set")
        compile_regex(rule)


def _parts(rules: Sequence[tuple[Rule, RuleKind]]) -> CompiledParts:
    table: dict[bytes, list[int]] = {}
    literals: list[int] = []
    regexes: list[int] = []
    authors: list[int] = []
    for number, (rule, _) in enumerate(rules):
        if rule.kind is RuleKind.REGEX:
            regexes.append(number)
            continue
        if rule.kind is RuleKind.AUTHOR:
            authors.append(number)
            continue
        forms = list(rule_forms(rule))
        for form in forms:
            table.setdefault(form, []).append(number)
        if not forms:
            literals.append(number)
    return CompiledParts(
        written=[(rule.written, kind) for rule, kind in rules],
        forms=list(table.values()),
        automaton=_automaton(list(table)),
        reach=max(MIN_REACH, 2 * max(map(len, table), default=0)),
        literals=literals,
        regexes=regexes,
        authors=authors,
        counts_authors=any(each.field in COUNTED for rule, _ in rules for each in rule.conditions),
        fuzzy={
            letters: form
            for form, (pattern, numbers) in enumerate(table.items())
            if any(rules[number][0].fuzzy for number in numbers)
            and len(letters := pattern.decode().strip()) >= MIN_FUZZY - 1
        },
    )


def _automaton(patterns: list[bytes]) -> bytes:
    """The serialised automaton: the forms, then three of each letter, which indicate stretched words."""
    letters = sorted({letter for pattern in patterns for letter in pattern.decode()} - {" "}) or ["a"]
    runs = (
        [run for letter in letters if (run := letter.encode() * 3) not in patterns] if patterns else [b"aaa"]
    )
    automaton = daachorse.DoubleArrayAhoCorasick([*patterns, *runs])
    return bytes(automaton.serialize())
