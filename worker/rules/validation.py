"""What is wrong with a rule set before it is saved: errors refuse, warnings show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from worker.errors import RuleRejected
from worker.rules.compiler import compile_rules
from worker.rules.fold import Fold, base, script
from worker.rules.forms import folded
from worker.rules.model import Level, ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.regexes import MAX_REGEXES, compile_regex
from worker.rules.syntax import parse_rule
from worker.rules.units import spaceless

FIRES_OFTEN = 0.05
"""Share of recent messages from which on a rule is reported: one in twenty is no rule for exceptions."""
MIN_RECENT = 20
"""Fewest recent messages to judge by."""
MAX_RULES = 100_000
"""Rules in one set; what the benchmark measures."""


def validate_rules(
    keywords: Sequence[str],
    phrases: Sequence[str] = (),
    *,
    allow: Sequence[str] = (),
    recent_messages: Sequence[str] = (),
    level: Level = Level.DEFAULT,
) -> tuple[RuleProblem, ...]:
    """Every problem of the set, errors first, each naming its rule."""
    problems: list[RuleProblem] = []
    written = [(rule, RuleKind.KEYWORD) for rule in keywords]
    written += [(rule, RuleKind.PHRASE) for rule in (*phrases, *allow)]
    if len(written) > MAX_RULES:
        problems.append(_error("*", "too_many", f"expected at most {MAX_RULES} rules, got {len(written)}"))
    rules = list(_parsed(written, problems))
    problems += _regex_problems([each for each in rules if each[1].kind is RuleKind.REGEX])
    plain = [each for each in rules if each[1].kind is not RuleKind.REGEX]
    for number, rule in plain:
        problems += (replace(problem, number=number) for problem in _shape_problems(rule))
    problems += _doubles(plain)
    if len(recent_messages) >= MIN_RECENT and not any(p.code == "too_many" for p in problems):
        problems += _frequent(keywords, phrases, allow, recent_messages, level)
    return tuple(sorted(problems, key=lambda problem: problem.level is not ProblemLevel.ERROR))


def _error(rule: str, code: str, message: str, number: int | None = None) -> RuleProblem:
    level = ProblemLevel.ERROR
    return RuleProblem(level=level, rule=rule[:120], code=code, message=message, number=number)


def _warning(rule: str, code: str, message: str, number: int | None = None) -> RuleProblem:
    level = ProblemLevel.WARNING
    return RuleProblem(level=level, rule=rule[:120], code=code, message=message, number=number)


def _parsed(
    written: Iterable[tuple[str, RuleKind]], problems: list[RuleProblem]
) -> Iterator[tuple[int, Rule]]:
    for number, (text, kind) in enumerate(written):
        try:
            yield number, parse_rule(text, kind)
        except RuleRejected as error:
            problems.append(_error(error.rule, "broken", error.reason, number))


def _regex_problems(rules: Sequence[tuple[int, Rule]]) -> Iterator[RuleProblem]:
    if len(rules) > MAX_REGEXES:
        yield _error("*", "too_many_regexes", f"expected at most {MAX_REGEXES} regexes, got {len(rules)}")
    for number, rule in rules[:MAX_REGEXES]:
        try:
            compile_regex(rule)
        except RuleRejected as error:
            yield _error(rule.written, "bad_regex", error.reason, number)


def _shape_problems(rule: Rule) -> Iterator[RuleProblem]:
    letters = [char for char in rule.core if char.isalnum()]
    unspaced = any(map(spaceless, letters))
    if len(letters) == 1 and not unspaced:
        if rule.open_start or rule.open_end:
            yield _error(rule.written, "too_short", "one letter with * matches nearly every message")
        else:
            yield _warning(
                rule.written, "too_short", "one letter: it fires wherever that letter stands alone"
            )
    elif len(letters) == 2 and not unspaced and (rule.open_start or rule.open_end):
        yield _warning(rule.written, "too_short", "two letters with * match many innocent words")
    if letters and all(map(str.isdigit, letters)):
        yield _warning(rule.written, "digits_only", "only digits: leet and look-alikes are not tried for it")
    if "*" in rule.core:
        yield _warning(
            rule.written, "inner_wildcard", "a * inside a word is read as a gap, not as any letter"
        )
    if len({script(char) for char in rule.core if char.isalpha()}) > 1 and not unspaced:
        yield _warning(
            rule.written, "mixed_scripts", "letters of several scripts: was it pasted from a spammer?"
        )


def _key(rule: Rule) -> tuple[str, frozenset[Switch], bool, bool]:
    """What makes two rules the same: their letters without case and accents, and how they are bound."""
    letters = rule.core
    if not rule.switches & {Switch.CASE, Switch.EXACT_ACCENTS}:
        letters = " ".join("".join(map(base, word)) for word in rule.core.split())
    return letters, rule.switches, rule.open_start, rule.open_end


def _doubles(rules: Sequence[tuple[int, Rule]]) -> Iterator[RuleProblem]:
    first: dict[tuple[str, frozenset[Switch], bool, bool], Rule] = {}
    wide = {
        folded(rule.core, Fold.NATIVE): rule
        for _, rule in rules
        if (rule.open_start or rule.open_end) and rule.switches <= {Switch.SUBSTRING}
    }
    for number, rule in rules:
        same = first.setdefault(_key(rule), rule)
        if same is not rule:
            yield _warning(
                rule.written,
                "duplicate",
                f"the same as {same.written!r} once case, accents and look-alike letters are evened out",
                number,
            )
            continue
        shadow = _shadow(rule, wide)
        if shadow is not None and shadow is not rule and Switch.ALLOW not in rule.switches:
            yield _warning(rule.written, "shadowed", f"{shadow.written!r} matches wherever it does", number)


def _shadow(rule: Rule, wide: dict[str, Rule]) -> Rule | None:
    """A wildcard rule that fires wherever this one does; looked up by the rule's own pieces."""
    text = folded(rule.core, Fold.NATIVE)
    for length in range(len(text), 0, -1):
        if (other := wide.get(text[:length])) is not None and other.open_end and other is not rule:
            return other
        if (other := wide.get(text[-length:])) is not None and other.open_start and other is not rule:
            return other
    return None


def _frequent(
    keywords: Sequence[str], phrases: Sequence[str], allow: Sequence[str], recent: Sequence[str], level: Level
) -> Iterator[RuleProblem]:
    compiled = compile_rules(keywords, phrases, allow=allow, version=0, level=level)
    counts: dict[str, int] = {}
    numbers = {rule: number for number, rule in reversed(list(enumerate((*keywords, *phrases))))}
    for text in recent:
        for rule in {hit.rule for hit in compiled.match(text)}:
            counts[rule] = counts.get(rule, 0) + 1
    for rule, count in counts.items():
        share = count / len(recent)
        if share >= FIRES_OFTEN:
            message = f"fires on {share:.1%} of the last {len(recent)} messages ({count})"
            yield replace(_warning(rule, "fires_often", message, numbers.get(rule)), share=share)
