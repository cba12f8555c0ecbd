"""How well a golden set was decided: counts, shares with their intervals, cost and latency."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from trials.pure.evaluation.items import Expected, GoldenLabel, GoldenRejected
from worker.statistics.shares import Share, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """What one item came to.

    Attributes:
        answered: whether a reply would go out.
        reason: code of the ending; empty for an item that was not decided.
        failure: a code when a model or moderation failed, so that it says nothing of quality; else empty.
        usd: what the item's calls cost at the declared prices.
        unpriced: models that were asked and have no declared price.
    """

    row_id: str
    label: GoldenLabel
    answered: bool
    reason: str
    failure: str
    latency_s: float
    usd: float = 0.0
    unpriced: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether it was decided, and as the label says; a wanted reason is counted apart."""
        return not self.failure and self.answered == (self.label.expected is Expected.ANSWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFigures:
    """The figures of one arm; failed items are in ``failures`` only.

    Attributes:
        items: of the set.
        right_answers: answered, and may be answered.
        wrong_answers: answered, and must not be.
        right_silence: silent, and must be.
        wrong_silence: silent, and may be answered.
        reasons_right: silent items that ended with the wanted reason, of ``reasons_wanted`` that want one.
        failures: failure -> items.
        latency_p50_ms, latency_p95_ms: nearest rank, of the decided items; None without any.
        unpriced: models whose cost is missing in ``usd``.
    """

    items: int
    right_answers: int = 0
    wrong_answers: int = 0
    right_silence: int = 0
    wrong_silence: int = 0
    reasons_right: int = 0
    reasons_wanted: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    usd: float = 0.0
    unpriced: tuple[str, ...] = ()
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None

    @property
    def decided(self) -> int:
        """Items that were decided without a failure."""
        return self.right_answers + self.wrong_answers + self.right_silence + self.wrong_silence

    def share(self, name: str) -> Share | None:
        """A measure with its interval; None where nothing was counted."""
        hits, total = {
            "precision": (self.right_answers, self.right_answers + self.wrong_answers),
            "recall": (self.right_answers, self.right_answers + self.wrong_silence),
            "accuracy": (self.right_answers + self.right_silence, self.decided),
            "reasons": (self.reasons_right, self.reasons_wanted),
            "decided": (self.decided, self.items),
        }[name]
        return wilson(hits, total)


MEASURES: Final[Mapping[str, str]] = {
    "precision": "of the answered items, those that may be answered",
    "recall": "of the items that may be answered, those that were",
    "accuracy": "of the decided items, those decided as labelled",
    "reasons": "of the items that were silent and want a reason, those that ended with it",
    "decided": "of all items, those decided without a failure",
}
"""The measures that are shares, with what they are; each has a Wilson interval of 95 %."""
LOW: Final = "_low"
"""``NAME_low`` is the lower end of the interval."""
ALL_DECIDED: Final = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationBound:
    """A measure that must be at least so large, 0..1."""

    name: str
    least: float

    @property
    def line(self) -> str:
        """The bound as written."""
        return f"{self.name}>={self.least:g}"

    def problem(self, figures: EvaluationFigures) -> str | None:
        """Why the figures are not within the bound; None when they are. Unmeasured figures are outside."""
        share = figures.share(self.name.removesuffix(LOW))
        if share is None:
            return f"{self.name}: expected at least {self.least:g}, got nothing to measure"
        value = share.low if self.name.endswith(LOW) else share.share
        if value >= self.least:
            return None
        return f"{self.name}: expected at least {self.least:g}, got {value:.4f}"


def parse_bound(text: str) -> EvaluationBound:
    """The bound of ``NAME=VALUE``.

    Raises:
        GoldenRejected: no such measure, or no number of 0 to 1.
    """
    name, equals, value = text.partition("=")
    if not equals or name.removesuffix(LOW) not in MEASURES:
        names = ", ".join(MEASURES)
        raise GoldenRejected(
            f"expected NAME=VALUE with one of {names}, or one of them with {LOW}, got {text!r}"
        )
    try:
        least = float(value)
    except ValueError:
        least = math.nan
    if not 0 <= least <= 1:
        raise GoldenRejected(f"{name}: expected a number of 0 to 1, got {value!r}")
    return EvaluationBound(name=name, least=least)


def bounds_of(texts: Sequence[str]) -> tuple[EvaluationBound, ...]:
    """The bounds; without one of ``decided`` every item must be decided.

    Raises:
        GoldenRejected: one is wrong.
    """
    found = tuple(map(parse_bound, texts))
    if any(each.name.removesuffix(LOW) == ALL_DECIDED for each in found):
        return found
    return (*found, EvaluationBound(name=ALL_DECIDED, least=1.0))


def figures_of(results: Iterable[ItemResult], *, items: int) -> EvaluationFigures:
    """The figures of results; ``items`` is the size of the set, also when not all were tried."""
    held = tuple(results)
    decided = [each for each in held if not each.failure]
    counts = Counter((each.answered, each.label.expected) for each in decided)
    wanting = [each for each in decided if each.label.reason is not None and not each.answered]
    times = sorted(each.latency_s * 1000 for each in decided)
    failures = Counter(each.failure for each in held if each.failure)
    return EvaluationFigures(
        items=items,
        right_answers=counts[True, Expected.ANSWER],
        wrong_answers=counts[True, Expected.SILENT],
        right_silence=counts[False, Expected.SILENT],
        wrong_silence=counts[False, Expected.ANSWER],
        reasons_right=sum(each.reason == each.label.reason for each in wanting),
        reasons_wanted=len(wanting),
        failures=dict(sorted(failures.items())),
        usd=math.fsum(each.usd for each in held),
        unpriced=tuple(sorted({name for each in held for name in each.unpriced})),
        latency_p50_ms=nearest_rank(times, 0.5),
        latency_p95_ms=nearest_rank(times, 0.95),
    )


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of the values do not exceed; None without values."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def figures_json(figures: EvaluationFigures) -> dict[str, Any]:
    """The figures with every share as ``share``, ``low``, ``high`` and ``of``; None where not measured."""
    found = asdict(figures)
    for name in ("reasons_right", "reasons_wanted"):
        del found[name]
    for name in MEASURES:
        each = figures.share(name)
        found[name] = each and {"share": each.share, "low": each.low, "high": each.high, "of": each.total}
    return found
