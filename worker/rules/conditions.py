"""Conditions of a rule about the author, such as ``author.strikes >= 2``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from worker.errors import RuleRejected
from worker.model import Author

NUMBERS: Final = ("strikes", "messages_1h", "account_age_days")
COUNTED: Final = frozenset({"strikes", "messages_1h"})
"""Read from the stored decisions, up to ``COUNTED_TO``; the others come with the event."""
COUNTED_TO: Final = 1_000
"""As in ``db/sql/authors.sql``."""
FIELDS: Final = (*NUMBERS, "role")
COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, ">": operator.gt,
    "<": operator.lt, "=": operator.eq,
}  # fmt: skip
CONDITION: Final = re.compile(r"author\.(\w+)\s*(>=|<=|!=|>|<|=)\s*([^<>=!,{}]+)")
LARGEST: Final = 100_000
MAX_ROLE_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorCondition:
    """A fact about the author, compared with a number or, for the role, with a text in lower case."""

    field: str
    comparison: str
    value: float | str

    def holds(self, author: Author) -> bool:
        """Whether the fact is known and compares so."""
        known = getattr(author, self.field)
        if known is None:
            return False
        if isinstance(known, str):
            known = known.strip().casefold()
        return COMPARISONS[self.comparison](known, self.value)


def parse_condition(written: str, rule: str) -> AuthorCondition:
    """The condition of a text such as ``author.role = guest``.

    Raises:
        RuleRejected: the field, the comparison or the value is none; names what was expected.
    """
    found = CONDITION.fullmatch(written.strip())
    if found is None:
        expected = f"a condition author.FIELD with one of {' '.join(COMPARISONS)} and a value"
        raise RuleRejected(rule, f"expected {expected}, got {written.strip()[:60]!r}")
    field, comparison, value = found[1], found[2], found[3].strip()
    if field not in FIELDS:
        known = ", ".join(f"author.{each}" for each in FIELDS)
        raise RuleRejected(rule, f"expected one of {known}, got author.{field[:60]}")
    if field == "role":
        if comparison not in {"=", "!="} or len(value) > MAX_ROLE_CHARS:
            raise RuleRejected(
                rule, f"author.role: expected = or != and a role, got {comparison} {value[:60]!r}"
            )
        return AuthorCondition(field=field, comparison=comparison, value=value.casefold())
    largest = COUNTED_TO if field in COUNTED else LARGEST
    if not re.fullmatch(r"\d{1,6}(?:\.\d{1,3})?", value) or float(value) > largest:
        raise RuleRejected(rule, f"author.{field}: expected a number from 0 to {largest}, got {value[:60]!r}")
    return AuthorCondition(field=field, comparison=comparison, value=float(value))


def all_hold(conditions: Iterable[AuthorCondition], author: Author) -> bool:
    """Whether all conditions hold."""
    return all(each.holds(author) for each in conditions)
