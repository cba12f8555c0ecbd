"""Agreement as tables: a line for each rule, reason and reader, in the order asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from markupsafe import Markup

from db.agreement import Agreement
from review.figures import sparks
from review.figures.measures import Kappa, Share, kappa, weighted, wilson

Row: TypeAlias = Mapping[str, Any]
SORTS: Final = ("reviews", "precision", "overturned", "name")
NO_RULE: Final = "no rule matched"
GONE: Final = "decision no longer kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One rule, reason or reader.

    Attributes:
        key: the rule, reason or login itself; None where there is none, and ``name`` says why.
        precision: agree of agree and overturn; unsure ones are left out.
        overturned: the share of all its reviews that overturn.
        unsure: the share of all its reviews that are unsure.
        golden: right answers to golden items, of a reader.
        second: blind second readings of it, or with this reader on either side.
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
        """The precision with its interval."""
        return Markup("") if self.precision is None else sparks.interval(self.precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The three tables, and all second readings together."""

    rules: tuple[Line, ...]
    reasons: tuple[Line, ...]
    readers: tuple[Line, ...]
    second: Kappa | None


def tables(found: Agreement, sort: str) -> Tables:
    """Everything on the page, each table in the same order."""
    golden = {row["person"]: wilson(row["right"], row["known"]) for row in found.golden}
    readers = {row["person"] for row in found.readers}
    silent = (
        {"person": each, "agree": 0, "overturn": 0, "unsure": 0} for each in golden if each not in readers
    )
    return Tables(
        rules=_sorted(sort, (_line(row, "rule", NO_RULE, found) for row in found.rules)),
        reasons=_sorted(sort, (_line(row, "reason_code", GONE, found) for row in found.reasons)),
        readers=_sorted(
            sort,
            (_line(row, "person", "", found, golden.get(row["person"])) for row in (*found.readers, *silent)),
        ),
        second=_kappa(found.pairs, lambda _: True),
    )


def _line(row: Row, column: str, missing: str, found: Agreement, golden: Share | None = None) -> Line:
    agree, overturn, unsure = row["agree"], row["overturn"], row["unsure"]
    reviews = agree + overturn + unsure
    weights = row.get("weights") or (agree, overturn, unsure, agree + overturn)
    right, wrong, doubtful, squares = weights
    every = max(1, right + wrong + doubtful)
    key = row[column]
    sides = ("first", "second") if column == "person" else (column,)
    return Line(
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


def _kappa(pairs: Iterable[Row], wanted: Callable[[Row], bool]) -> Kappa | None:
    counted: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        if wanted(pair):
            counted[pair["first_verdict"], pair["second_verdict"]] += pair["readings"]
    return kappa(counted)


def _sorted(sort: str, lines: Iterable[Line]) -> tuple[Line, ...]:
    """Most reviewed, least precise, most overturned or by name; equal ones by name."""
    orders: dict[str, Callable[[Line], tuple[Any, ...]]] = {
        "reviews": lambda line: (-line.reviews, line.name),
        "precision": lambda line: (2.0 if line.precision is None else line.precision.share, line.name),
        "overturned": lambda line: (-line.overturned, line.name),
        "name": lambda line: (line.name,),
    }
    return tuple(sorted(lines, key=orders[sort]))
