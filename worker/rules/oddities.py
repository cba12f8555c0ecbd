"""What looks odd in rules from a file: a person is asked before the rules are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from worker.rules.dialects import HEADINGS
from worker.rules.formats import RuleList

FEW: Final = 0.5
"""Share of the rules in force below which a file is probably not the whole list."""
SHOWN: Final = 3
LONG_CHARS: Final = 80
SEPARATED: Final = re.compile(r"[^\s/;|\t,][;|\t,]\s*[^\s;|\t,]")
QUOTED: Final = re.compile(r"""^(["'“„«]).*["'”“»]$""")


def summary(rules: RuleList) -> str:
    """The rules in one line: the number of each kind, and the first rules."""
    every = _every(rules)
    kinds = ", ".join(
        f"{len(found)} {name}"
        for found, name in (
            (rules.keywords, "keywords"),
            (rules.phrases, "phrases"),
            (rules.allow, "allowed texts"),
        )
        if found
    )
    shown = ", ".join(every[:SHOWN]) + (", ..." if len(every) > SHOWN else "")
    return f"{len(every)} rules: {kinds}: {shown}" if every else "0 rules"


def oddities(rules: RuleList, in_force: int = 0) -> tuple[str, ...]:
    """Why a person should look at these rules before they replace the rules in force."""
    return tuple(_found(rules, _every(rules), in_force))


def _found(rules: RuleList, every: Sequence[str], in_force: int) -> Iterator[str]:
    if len(every) < FEW * in_force:
        yield f"{len(every)} rules replace {in_force}"
    if rules.skipped:
        yield f"{len(rules.skipped)} lines are left out, the first: {rules.skipped[0]}"
    plain = [rule for rule in every if not rule.startswith("/")]
    if plain and plain[0].strip().lower() in HEADINGS and len(plain) > 1:
        yield f"the first rule, {plain[0]!r}, may be a heading"
    yield from _many(plain, [rule for rule in plain if SEPARATED.search(rule)], "have separators inside")
    yield from _many(plain, [rule for rule in plain if QUOTED.match(rule)], "are in quotation marks")
    yield from _many(plain, [rule for rule in plain if len(rule) > LONG_CHARS], "are as long as sentences")


def _many(every: Sequence[str], odd: Sequence[str], what: str) -> Iterator[str]:
    if odd and len(odd) * 4 >= len(every):
        yield f"{len(odd)} rules {what}, the first: {odd[0][:LONG_CHARS]!r}"


def _every(rules: RuleList) -> tuple[str, ...]:
    return (*rules.keywords, *rules.phrases, *rules.allow)
