"""Agreement as tables: a line for each rule, reason and reviewer, in the requested order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from markupsafe import Markup

from db.figures.agreement import Agreement
from review.dashboard import sparks
from review.dashboard.measures import (
    Kappa,
    Share,
    kappa,
    weighted,
    wilson,
)

CountRow: TypeAlias = Mapping[str, Any]
SORTS: Final = ("reviews", "precision", "overturned", "name")
NO_RULE: Final = "no rule matched"
NO_DECISION: Final = "decision deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementLine:
    """One rule, reason or reviewer.

    Attributes:
        key: the rule, reason or login; None where there is none, and ``name`` gives the cause.
        precision: agree of agree and overturn; unsure ones are left out.
        overturned: the share of all its reviews that overturn.
        unsure: the share of all its reviews that are unsure.
        golden: share of a reviewer's right answers to golden items.
        second: agreement of its blind second readings; of a reviewer, on either side.
    """

    name: str
    key: str | None
    agree: int
    overturn: int
    reviews: int
    precision: Share | None
    overturned: float
    unsure: float
    golden: Share | None
    second: Kappa | None

    @property
    def picture(self) -> Markup:
        """The precision with its interval, drawn."""
        return Markup("") if self.precision is None else sparks.interval(self.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementTables:
    """The three tables, and all second readings together."""

    rules: tuple[AgreementLine, ...]
    reasons: tuple[AgreementLine, ...]
    readers: tuple[AgreementLine, ...]
    second: Kappa | None


def agreement_tables(found: Agreement, sort: str) -> AgreementTables:
    """All tables of the page, in the same order."""
    golden = {row["person"]: wilson(row["right"], row["known"]) for row in found.golden}
    readers = {row["person"] for row in found.readers}
    golden_only = (
        {"person": each, "agree": 0, "overturn": 0, "unsure": 0} for each in golden if each not in readers
    )
    return AgreementTables(
        rules=_sorted(sort, (_line(row, "rule", NO_RULE, found) for row in found.rules)),
        reasons=_sorted(sort, (_line(row, "reason_code", NO_DECISION, found) for row in found.reasons)),
        readers=_sorted(
            sort,
            (
                _line(row, "person", "", found, golden.get(row["person"]))
                for row in (*found.readers, *golden_only)
            ),
        ),
        second=_kappa(found.pairs, lambda _: True),
    )


def _line(
    row: CountRow, column: str, missing: str, found: Agreement, golden: Share | None = None
) -> AgreementLine:
    agree, overturn, unsure = row["agree"], row["overturn"], row["unsure"]
    reviews = agree + overturn + unsure
    weights = row.get("weights") or (agree, overturn, unsure, agree + overturn)
    right, wrong, doubtful, squares = weights
    every = max(1, right + wrong + doubtful)
    key = row[column]
    sides = ("first", "second") if column == "person" else (column,)
    return AgreementLine(
        name=missing if key is None else key,
        key=key,
        agree=agree,
        overturn=overturn,
        reviews=reviews,
        precision=weighted(
            agree, agree + overturn, weight_of_hits=right, weight=right + wrong, squares=squares
        ),
        overturned=wrong / every,
        unsure=doubtful / every,
        golden=golden,
        second=_kappa(found.pairs, lambda pair: key in [pair[side] for side in sides]),
    )


def _kappa(pairs: Iterable[CountRow], wanted: Callable[[CountRow], bool]) -> Kappa | None:
    counted: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        if wanted(pair):
            counted[pair["first_ruling"], pair["second_ruling"]] += pair["readings"]
    return kappa(counted)


def _sorted(sort: str, lines: Iterable[AgreementLine]) -> tuple[AgreementLine, ...]:
    """Sorted by most reviews, least precision, most overturned or name; then by name."""
    orders: dict[str, Callable[[AgreementLine], tuple[Any, ...]]] = {
        "reviews": lambda line: (-line.reviews, line.name),
        "precision": lambda line: (2.0 if line.precision is None else line.precision.share, line.name),
        "overturned": lambda line: (-line.overturned, line.name),
        "name": lambda line: (line.name,),
    }
    return tuple(sorted(lines, key=orders[sort]))
