"""The text of the rule editor: from text to rules, and from problems to lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from starlette.datastructures import FormData

from review.http.numbers import whole_number
from review.http.visit import Refused
from worker.account_settings import RULES, SETTINGS, AccountRejected
from worker.model import Account
from worker.rules import ProblemLevel, RuleProblem

LISTS: Final[Mapping[str, str]] = {name: SETTINGS[name].title for name in RULES}
"""The lists of an account and their titles, in the order in which problems number their rules."""
EDITOR_RULES: Final = 5_000
"""With more rules there is a searchable list instead of text areas."""
ALL_RULES: Final = "All rules"
LINE: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A problem of one rule, with its line; 0 without a line.

    Attributes:
        name: of the list; empty for a problem of all rules.
    """

    level: ProblemLevel
    name: str
    title: str
    line: int
    rule: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEdit:
    """An edit of the rules, made from a version of the account.

    Attributes:
        version: the version in force when the editor was opened.
        texts: of the text areas, by list: all rules, or the rules to add.
        removed: rules to remove, by list; only when ``texts`` are rules to add.
        complete: True when ``texts`` are all rules.
    """

    version: int
    texts: Mapping[str, str]
    removed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    complete: bool = True

    @classmethod
    def of(cls, account: Account) -> Self:
        """The editor with the rules of an account."""
        complete = fits_editor(account)
        texts = {name: "\n".join(getattr(account, name)) if complete else "" for name in LISTS}
        return cls(version=account.version, texts=texts, complete=complete)

    @classmethod
    def read(cls, form: FormData) -> Self:
        """The editor as submitted."""
        texts = {name: str(form.get(name, "")) for name in LISTS}
        removed = {name: frozenset(map(str, form.getlist(f"remove_{name}"))) for name in LISTS}
        return cls(version=version_in(form), texts=texts, removed=removed, complete=form.get("whole") != "no")

    def changes(self, account: Account) -> dict[str, list[str]]:
        """The three lists as they would be stored."""
        typed = {name: [rule for _, rule in _lines(self.texts[name])] for name in LISTS}
        if self.complete:
            return typed
        return {name: self._remaining(account, name) + typed[name] for name in LISTS}

    def merged(self, base: Account, in_force: Account) -> RuleEdit:
        """The rules stored meanwhile, with the additions and removals of this edit since ``base``."""
        typed = self.changes(base)
        texts = {}
        for name in LISTS:
            before, now = set(getattr(base, name)), getattr(in_force, name)
            removed = before.difference(typed[name])
            added = [rule for rule in typed[name] if rule not in before and rule not in now]
            texts[name] = "\n".join([*(rule for rule in now if rule not in removed), *added])
        return RuleEdit(version=in_force.version, texts=texts)

    def remarks(self, account: Account, problems: Iterable[RuleProblem]) -> tuple[Remark, ...]:
        """Problems of the rules that ``changes`` gave, at their lines, in the order of the lines."""
        before = {name: 0 if self.complete else len(self._remaining(account, name)) for name in LISTS}
        places = [
            (name, number)
            for name in LISTS
            for number in [0] * before[name] + [line for line, _ in _lines(self.texts[name])]
        ]
        found = []
        for problem in problems:
            known = problem.number is not None and problem.number < len(places)
            name, line = places[problem.number or 0] if known else ("", 0)
            title, level = LISTS.get(name, ALL_RULES), problem.level
            found.append(
                Remark(
                    level=level, name=name, title=title, line=line, rule=problem.rule, text=problem.message
                )
            )
        return tuple(sorted(found, key=_order))

    def refusals(self, account: Account, error: AccountRejected) -> tuple[Remark, ...]:
        """The problems of a rejected account, such as a rule of 2,000 characters."""
        names = list(LISTS)
        sizes = {name: len(rules) for name, rules in self.changes(account).items()}
        problems = []
        for place, text in error.problems:
            name, _, index = place.partition(".")
            number = None
            if name in sizes and index.isdigit():
                number = sum(sizes[each] for each in names[: names.index(name)]) + int(index)
            problems.append(
                RuleProblem(
                    level=ProblemLevel.ERROR, rule=LISTS.get(name, name), code="broken",
                    message=text, number=number,
                )
            )  # fmt: skip
        return self.remarks(account, problems)

    def _remaining(self, account: Account, name: str) -> list[str]:
        removed = self.removed.get(name, frozenset())
        return [rule for rule in getattr(account, name) if rule not in removed]


def fits_editor(account: Account) -> bool:
    """Whether the rules can be edited as text: not too many, and each on one line."""
    rules = [rule for name in LISTS for rule in getattr(account, name)]
    return len(rules) <= EDITOR_RULES and not any(LINE.search(rule) for rule in rules)


def version_in(form: FormData) -> int:
    """The version that a form was made from; refused (400) without one."""
    text = str(form.get("version", ""))
    if (version := whole_number(text)) is None:
        raise Refused(400, "Not understood", f"version: expected a number, got {text[:40]!r}.")
    return version


def rules_containing(account: Account, search: str) -> Sequence[tuple[str, str]]:
    """List and rule of every rule that contains this text, in any case."""
    letters = search.casefold()
    return [(name, rule) for name in LISTS for rule in getattr(account, name) if letters in rule.casefold()]


def _order(remark: Remark) -> tuple[bool, int, int]:
    titles = [*LISTS.values(), ALL_RULES]
    return remark.level is not ProblemLevel.ERROR, titles.index(remark.title), remark.line


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, rule) for number, line in enumerate(LINE.split(text), 1) if (rule := line.strip())]
