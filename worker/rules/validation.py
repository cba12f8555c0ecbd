"""Validates a rule set before saving: errors refuse the set, warnings are shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from worker.errors import RuleRejected
from worker.model import RuleLevel
from worker.rules.compiler import MAX_FUZZY_RULES, as_allowed, compile_rules
from worker.rules.conditions import AuthorCondition
from worker.rules.folding.fold import Fold, base_letter, script_code
from worker.rules.folding.forms import folded_words
from worker.rules.folding.units import is_spaceless
from worker.rules.fuzzy_reach import fuzzy_reaches, fuzzy_warning
from worker.rules.model import ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.regexes import MAX_REGEXES, compile_regex
from worker.rules.syntax import parse_rule, without_switches

FIRES_OFTEN = 0.05
"""Share of recent messages from which a rule is reported as too frequent."""
MIN_RECENT = 20
"""Fewest recent messages for that report."""
MAX_RULES = 100_000
"""Most rules in one set; the benchmark measures as many."""

REGEX_PREFIX: Final = re.compile(r"(?:re|rx|regex|regexp):(?=\S)", re.IGNORECASE)
"""Prefixes of a regex in other tools."""
REGEX_FLAGS: Final = re.compile(r"/(?P<pattern>.+)/[gimsux]{1,5}")
"""A regex as programming languages write it."""
REGEX_SIGNS: Final = re.compile(
    r"\\[bBdDsSwW]|\[\^|\[(?:\w-\w)+\w*\]|\.[*+]|\(\?[:=!<iP]|\([^()\s]*\|[^()\s]*\)|\w\{\d+(?:,\d*)?\}|^\^\w"
)
"""Syntax of a regex that hardly ever occurs in a word."""


def validate_rules(
    keywords: Sequence[str],
    phrases: Sequence[str] = (),
    *,
    allow: Sequence[str] = (),
    recent_messages: Sequence[str] = (),
    level: RuleLevel = RuleLevel.DEFAULT,
) -> tuple[RuleProblem, ...]:
    """All problems of the set, errors first, each with its rule."""
    problems: list[RuleProblem] = []
    written = [(rule, RuleKind.KEYWORD) for rule in keywords]
    written += [(rule, RuleKind.PHRASE) for rule in phrases]
    if (total := len(written) + len(allow)) > MAX_RULES:
        problems.append(_error("*", "too_many", f"expected at most {MAX_RULES} rules, got {total}"))
    rules = list(_parsed(written, allow, problems))
    problems += _regex_problems([each for each in rules if each[1].kind is RuleKind.REGEX])
    plain = [each for each in rules if each[1].core and each[1].kind is not RuleKind.REGEX]
    for number, rule in plain:
        problems += (replace(problem, number=number) for problem in _shape_problems(rule))
    problems += _doubles(plain)
    fuzzy = [each for each in plain if each[1].fuzzy]
    if len(fuzzy) > MAX_FUZZY_RULES:
        message = f"expected at most {MAX_FUZZY_RULES} fuzzy rules, got {len(fuzzy)}"
        problems.append(_error("*", "too_many_fuzzy", message))
    elif fuzzy:
        problems += _fuzzy_problems(fuzzy, allow, recent_messages)
    if len(recent_messages) >= MIN_RECENT and not any(p.code == "too_many" for p in problems):
        problems += _frequent(keywords, phrases, allow, recent_messages, level)
    return tuple(sorted(problems, key=lambda problem: problem.level is not ProblemLevel.ERROR))


def _problem(
    level: ProblemLevel, rule: str, code: str, message: str, number: int | None = None
) -> RuleProblem:
    return RuleProblem(level=level, rule=rule[:120], code=code, message=message, number=number)


_error = partial(_problem, ProblemLevel.ERROR)
_warning = partial(_problem, ProblemLevel.WARNING)


def _parsed(
    written: Sequence[tuple[str, RuleKind]], allow: Sequence[str], problems: list[RuleProblem]
) -> Iterator[tuple[int, Rule]]:
    """The rules that parse, numbered, the allowed texts last; the others become problems."""
    texts = [(text, text, kind) for text, kind in written]
    texts += [(text, as_allowed(text), RuleKind.PHRASE) for text in allow]
    for number, (text, rule, kind) in enumerate(texts):
        try:
            yield number, replace(parse_rule(rule, kind), written=text)
        except RuleRejected as error:
            problems.append(_error(text, "broken", error.reason, number))


def _regex_problems(rules: Sequence[tuple[int, Rule]]) -> Iterator[RuleProblem]:
    if len(rules) > MAX_REGEXES:
        yield _error("*", "too_many_regexes", f"expected at most {MAX_REGEXES} regexes, got {len(rules)}")
    for number, rule in rules[:MAX_REGEXES]:
        try:
            compile_regex(rule)
        except RuleRejected as error:
            yield _error(rule.written, "bad_regex", error.reason, number)


def _fuzzy_problems(
    rules: Sequence[tuple[int, Rule]], allow: Sequence[str], recent: Sequence[str]
) -> Iterator[RuleProblem]:
    reaches = fuzzy_reaches((rule.written for _, rule in rules), allow, recent)
    for number, rule in rules:
        if rule.written in reaches:
            message = fuzzy_warning(reaches[rule.written], len(recent))
            yield _warning(rule.written, "fuzzy_reach", message, number)


def _shape_problems(rule: Rule) -> Iterator[RuleProblem]:
    if (pattern := _meant_regex(rule)) is not None:
        message = f"it looks like a regex and is taken literally: write /{pattern}/ for a regex"
        yield _warning(rule.written, "literal_regex", message)
    letters = [char for char in rule.core if char.isalnum()]
    unspaced = any(map(is_spaceless, letters))
    if len(letters) == 1 and not unspaced:
        if rule.open_start or rule.open_end:
            yield _error(rule.written, "too_short", "one letter with * matches nearly every message")
        else:
            yield _warning(rule.written, "too_short", "one letter: it matches wherever that letter is a word")
    elif len(letters) == 2 and not unspaced and (rule.open_start or rule.open_end):
        yield _warning(rule.written, "too_short", "two letters with * match many innocent words")
    if letters and all(map(str.isdigit, letters)):
        yield _warning(rule.written, "digits_only", "only digits: leet and look-alikes are not applied")
    if "*" in rule.core and pattern is None:
        yield _warning(
            rule.written, "inner_wildcard", "a * inside a word is read as a gap, not as any letter"
        )
    if len({script_code(char) for char in rule.core if char.isalpha()}) > 1 and not unspaced:
        yield _warning(
            rule.written, "mixed_scripts", "letters of several scripts: was it pasted from a spammer?"
        )


def _meant_regex(rule: Rule) -> str | None:
    """The pattern of a plain rule that was probably meant as a regex, or None."""
    body = without_switches(rule.written)
    if (prefix := REGEX_PREFIX.match(body)) is not None:
        return body[prefix.end() :].strip("/")
    if (flags := REGEX_FLAGS.fullmatch(body)) is not None:
        return flags["pattern"]
    return body if REGEX_SIGNS.search(body) else None


RuleKey = tuple[str, frozenset[Switch], bool, bool, bool, tuple[AuthorCondition, ...]]
"""A rule's letters without case and accents, switches, open ends, whether it is fuzzy, and conditions."""


def _key(rule: Rule) -> RuleKey:
    letters = rule.core
    if not rule.switches & {Switch.CASE, Switch.EXACT_ACCENTS}:
        letters = " ".join("".join(map(base_letter, word)) for word in rule.core.split())
    return letters, rule.switches, rule.open_start, rule.open_end, rule.fuzzy, rule.conditions


def _doubles(rules: Sequence[tuple[int, Rule]]) -> Iterator[RuleProblem]:
    first: dict[RuleKey, Rule] = {}
    wide = {
        folded_words(rule.core, Fold.NATIVE): rule
        for _, rule in rules
        if (rule.open_start or rule.open_end) and rule.switches <= {Switch.SUBSTRING} and not rule.conditions
    }
    fuzzy = {
        folded_words(rule.core, Fold.NATIVE): rule
        for _, rule in rules
        if rule.fuzzy and not (rule.switches or rule.prefix or rule.suffix or rule.conditions)
    }
    for number, rule in rules:
        same = first.setdefault(_key(rule), rule)
        if same is not rule:
            yield _warning(
                rule.written,
                "duplicate",
                f"the same as {same.written!r} without case, accents and look-alike letters",
                number,
            )
            continue
        shadow = _shadow(rule, wide)
        if shadow is None and not (rule.open_start or rule.open_end):
            shadow = fuzzy.get(folded_words(rule.core, Fold.NATIVE))
        if shadow is not None and shadow is not rule and Switch.ALLOW not in rule.switches:
            yield _warning(
                rule.written, "shadowed", f"{shadow.written!r} matches wherever this rule does", number
            )


def _shadow(rule: Rule, wide: dict[str, Rule]) -> Rule | None:
    """A wildcard rule that matches wherever this rule does, found by this rule's prefixes and suffixes."""
    text = folded_words(rule.core, Fold.NATIVE)
    for length in range(len(text), 0, -1):
        if (other := wide.get(text[:length])) is not None and other.open_end and other is not rule:
            return other
        if (other := wide.get(text[-length:])) is not None and other.open_start and other is not rule:
            return other
    return None


def _frequent(
    keywords: Sequence[str],
    phrases: Sequence[str],
    allow: Sequence[str],
    recent: Sequence[str],
    level: RuleLevel,
) -> Iterator[RuleProblem]:
    compiled = compile_rules(keywords, phrases, allow=allow, version=0, level=level)
    counts = Counter(rule for text in recent for rule in {hit.rule for hit in compiled.match(text)})
    numbers = {rule: number for number, rule in reversed(list(enumerate((*keywords, *phrases))))}
    for rule, count in counts.items():
        share = count / len(recent)
        if share >= FIRES_OFTEN:
            message = f"matches {share:.1%} of the last {len(recent)} messages ({count})"
            yield replace(_warning(rule, "fires_often", message, numbers.get(rule)), share=share)
