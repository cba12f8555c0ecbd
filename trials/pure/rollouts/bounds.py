"""Bounds of a rollout: what its candidate may do before it is returned; and the comparison of both arms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from trials.pure.statistics.sequential import (
    ClusterSums,
    Comparison,
    compare,
    mean_of_clusters,
    share_of_clusters,
)
from worker.errors import RejectedError

LEAST_DECISIONS: Final = 50
"""Decisions of an arm before a bound is tested, unless the rollout declares another number."""
MOST_LEAST: Final = 1_000_000
WRITTEN: Final = re.compile(r"([a-z_0-9]+)<=([+x]?)([0-9]+(?:\.[0-9]+)?)")
NO_SUMS: Final = ClusterSums(units=0, hits=0, size=0, hits_squared=0, crossed=0, size_squared=0)


class Measure(StrEnum):
    """What bounds are on; stored, never renamed.

    Attributes:
        OVERTURNS: share of the decisions that reviewers overturn, from reviews of random samples: each
            weighs the inverse of the chance with which its decision was drawn.
        ESCALATIONS: share of the decisions that hand the conversation to people.
        BLOCKS: share of the decisions that rules or moderation blocked.
        LATENCY: milliseconds from arrival to decision: 19 of 20 are faster.
        COST: US dollars a decision, as far as prices are known.
    """

    OVERTURNS = "overturns"
    ESCALATIONS = "escalations"
    BLOCKS = "blocks"
    LATENCY = "latency"
    COST = "cost"


class BoundKind(StrEnum):
    """What the limit of a bound is compared with; the value is how it is written."""

    ABSOLUTE = ""
    ABOVE = "+"
    TIMES = "x"


class BoundState(StrEnum):
    """What the decisions so far say about a bound."""

    TOO_FEW = "too_few"
    KEPT = "kept"
    LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The largest figure of the candidate: a number, or relative to the decisions of the live settings."""

    measure: Measure
    kind: BoundKind
    limit: float

    def __str__(self) -> str:
        return f"{self.measure}<={self.kind}{self.limit:.12g}"

    def largest(self, live: float) -> float:
        """The largest figure that keeps the bound while the live settings have the figure ``live``."""
        match self.kind:
            case BoundKind.ABSOLUTE:
                return self.limit
            case BoundKind.ABOVE:
                return live + self.limit
            case BoundKind.TIMES:
                return live * self.limit


class BoundRejected(RejectedError):
    """A bound that cannot be used as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """What the decisions of one arm did since the last step.

    Attributes:
        sums: by measure over conversations; that of ``OVERTURNS`` over weights of reviewed decisions.
        p95_ms: the latency that 19 of 20 decisions keep.
        effective: decisions of equal weight that would say as much; without an entry all weigh the same.
        left_out: reviewed decisions whose chance of being drawn is not known.
    """

    sums: Mapping[Measure, ClusterSums] = field(default_factory=dict)
    p95_ms: float = 0.0
    effective: Mapping[Measure, float] = field(default_factory=dict)
    left_out: int = 0

    def counted(self, measure: Measure) -> int:
        """Decisions that the figure rests on."""
        return round(self.effective.get(measure, self.sums.get(measure, NO_SUMS).size))

    def figure(self, measure: Measure) -> float:
        """The figure of the arm; 0 without decisions."""
        if measure is Measure.LATENCY:
            return self.p95_ms
        sums = self.sums.get(measure, NO_SUMS)
        return sums.hits / sums.size if sums.size else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFigures:
    """Both arms of a rollout."""

    live: ArmFigures = field(default_factory=ArmFigures)
    candidate: ArmFigures = field(default_factory=ArmFigures)


def parse_bound(text: str) -> Bound:
    """A bound as a person writes it: ``blocks<=0.2``, ``blocks<=+0.05`` or ``latency<=x1.5``.

    Raises:
        BoundRejected: it is written otherwise, or on an unknown measure.
    """
    found = WRITTEN.fullmatch(text.replace(" ", ""))
    if found is None or found[1] not in set(Measure):
        names = ", ".join(Measure)
        raise BoundRejected(
            f"bound: expected MEASURE<=NUMBER, MEASURE<=+MORE or MEASURE<=xTIMES with one of {names},"
            f" got {text[:100]!r}"
        )
    return Bound(measure=Measure(found[1]), kind=BoundKind(found[2]), limit=float(found[3]))


def broken_bounds(bounds: Sequence[Bound], figures: RolloutFigures, *, least: int) -> tuple[str, ...]:
    """A sentence for each bound that the candidate's decisions have left; none with too few decisions.

    ``least`` is how many decisions each arm needs that the bound rests on.
    """
    return tuple(
        _broken(each, figures)
        for each in bounds
        if bound_state(each, figures, least=least) is BoundState.LEFT
    )


def bound_state(bound: Bound, figures: RolloutFigures, *, least: int) -> BoundState:
    """Whether the candidate keeps a bound; a bound without relation to the other arm needs only its own."""
    if figures.candidate.counted(bound.measure) < least:
        return BoundState.TOO_FEW
    if bound.kind is not BoundKind.ABSOLUTE and figures.live.counted(bound.measure) < least:
        return BoundState.TOO_FEW
    largest = bound.largest(figures.live.figure(bound.measure))
    return BoundState.LEFT if figures.candidate.figure(bound.measure) > largest else BoundState.KEPT


def _broken(bound: Bound, figures: RolloutFigures) -> str:
    live, candidate = figures.live.figure(bound.measure), figures.candidate.figure(bound.measure)
    counted = figures.candidate.counted(bound.measure)
    return (
        f"{bound}: expected at most {bound.largest(live):.6g}, got {candidate:.6g} in {counted} decisions;"
        f" the live settings have {live:.6g}"
    )


def parse_figures(stored: Mapping[str, Any]) -> RolloutFigures:
    """The figures that ``hushgate_rollout_figures`` in ``trials/sql`` gives."""
    return RolloutFigures(live=_arm(stored["live"]), candidate=_arm(stored["candidate"]))


def _arm(stored: Mapping[str, Any]) -> ArmFigures:
    measures = {Measure(name): each for name, each in stored["measures"].items()}
    return ArmFigures(
        sums={
            measure: ClusterSums(**{name: each[name] for name in asdict(NO_SUMS)})
            for measure, each in measures.items()
        },
        p95_ms=stored["p95_ms"],
        effective={measure: each["counted"] for measure, each in measures.items()},
        left_out=stored["left_out"],
    )


SHARES: Final = frozenset({Measure.OVERTURNS, Measure.ESCALATIONS, Measure.BLOCKS})
"""Measures that are shares; the others are means of a decision."""


def compare_arms(metric: Measure, figures: RolloutFigures, *, planned: int) -> Comparison:
    """The metric of the candidate less that of the live settings; of latency the means are compared.

    ``planned`` is how many conversations of both arms were planned when the rollout began.
    """
    arm = share_of_clusters if metric in SHARES else mean_of_clusters
    live, candidate = (each.sums.get(metric, NO_SUMS) for each in (figures.live, figures.candidate))
    return compare(arm(live), arm(candidate), planned_units=planned)
