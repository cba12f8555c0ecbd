"""Agreement as tables: a line for each rule, reason and reviewer, in the requested order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from markupsafe import Markup

from db.figures.agreement import Agreement
from review.agreement.kappa import Kappa, kappa
from review.charts.scales import interval
from review.languages import mark
from worker.statistics.shares import Share, weighted, wilson

CountRow: TypeAlias = Mapping[str, Any]
NO_RULE: Final = mark("no rule matched")
NO_DECISION: Final = mark("decision deleted")


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
        return Markup("") if self.precision is None else interval(self.precision)


SORTS: Final[Mapping[str, Callable[[AgreementLine], float | str]]] = {
    "reviews": lambda line: -line.reviews,
    "precision": lambda line: 2.0 if line.precision is None else line.precision.share,
    "overturned": lambda line: -line.overturned,
    "name": lambda line: line.name,
}
"""Orders of the tables: most reviews, least precision, most overturned, name; equal ones by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementTables:
    """The three tables, and all second readings together."""

    rules: tuple[AgreementLine, ...]
    reasons: tuple[AgreementLine, ...]
    reviewers: tuple[AgreementLine, ...]
    second: Kappa | None


def agreement_tables(found: Agreement, sort: str) -> AgreementTables:
    """All tables of the page, in the same order."""
    golden = {row["person"]: wilson(row["right"], row["known"]) for row in found.golden}
    reviewers = {row["person"] for row in found.readers}
    golden_only = [
        {"person": each, "agree": 0, "overturn": 0, "unsure": 0} for each in golden if each not in reviewers
    ]

    def table(rows: Iterable[CountRow], column: str, missing: str = "") -> tuple[AgreementLine, ...]:
        lines = (_line(row, column, missing, found, golden) for row in rows)
        return tuple(sorted(lines, key=lambda line: (SORTS[sort](line), line.name)))

    return AgreementTables(
        rules=table(found.rules, "rule", NO_RULE),
        reasons=table(found.reasons, "reason_code", NO_DECISION),
        reviewers=table((*found.readers, *golden_only), "person"),
        second=_kappa(found.pairs),
    )


def _line(
    row: CountRow, column: str, missing: str, found: Agreement, golden: Mapping[str, Share | None]
) -> AgreementLine:
    agree, overturn, unsure = row["agree"], row["overturn"], row["unsure"]
    reviews = agree + overturn + unsure
    right, wrong, doubtful, squares = row.get("weights") or (agree, overturn, unsure, agree + overturn)
    total = max(1, right + wrong + doubtful)
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
        overturned=wrong / total,
        unsure=doubtful / total,
        golden=golden.get(key) if column == "person" else None,
        second=_kappa(pair for pair in found.pairs if key in [pair[side] for side in sides]),
    )


def _kappa(pairs: Iterable[CountRow]) -> Kappa | None:
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        counts[pair["first_ruling"], pair["second_ruling"]] += pair["readings"]
    return kappa(counts)
