"""False alarms and power of comparisons that are looked at every day: ``python -m bench.sequential``.

Every run draws 60 days of two arms and looks at the comparison at the end of each day. In A/A runs both arms
are alike, so every decision is a false alarm. Beside it, the same runs with an ordinary 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from bisect import bisect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from trials.pure.statistics.sequential import (
    LEAST_UNITS,
    Arm,
    ClusterSums,
    compare,
    share_of_clusters,
)
from worker.statistics.shares import Z

DAYS: Final = 60
RUNS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """How the days of both arms are drawn.

    Attributes:
        kind: ``share`` of conversations, ``clusters`` (a share of decisions, several to a conversation) or
            ``cost`` (a skewed measure).
        control: the control's share or median.
        candidate: that of the candidate.
        daily: conversations of the control a day, and of the candidate.
    """

    name: str
    kind: str
    control: float
    candidate: float
    daily: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Shares of runs, 0..1.

    Attributes:
        decided: were decided at any look.
        decided_peeking: would have been by an ordinary 95 % interval at any look.
        median_day: of the decisions; None without any.
    """

    scenario: str
    runs: int
    decided: float
    decided_peeking: float
    median_day: int | None


SCENARIOS: Final = (
    Scenario(name="A/A share 1 %", kind="share", control=0.01, candidate=0.01, daily=(50, 50)),
    Scenario(name="A/A share 10 %", kind="share", control=0.10, candidate=0.10, daily=(50, 50)),
    Scenario(name="A/A share 50 %", kind="share", control=0.50, candidate=0.50, daily=(200, 200)),
    Scenario(name="A/A share 5 %, 1 of 10", kind="share", control=0.05, candidate=0.05, daily=(180, 20)),
    Scenario(name="A/A clusters 10 %", kind="clusters", control=0.10, candidate=0.10, daily=(30, 30)),
    Scenario(name="A/A cost", kind="cost", control=1.0, candidate=1.0, daily=(30, 30)),
    Scenario(name="A/B share 10 % to 15 %", kind="share", control=0.10, candidate=0.15, daily=(50, 50)),
    Scenario(name="A/B share 10 % to 12 %", kind="share", control=0.10, candidate=0.12, daily=(50, 50)),
    Scenario(name="A/B cost +20 %", kind="cost", control=1.0, candidate=1.2, daily=(30, 30)),
)


def simulate(scenario: Scenario, *, runs: int = RUNS, seed: int = 1) -> Outcome:
    """The outcome of one scenario."""
    draws = random.Random(seed)
    days = [_run(scenario, draws) for _ in range(runs)]
    decided = sorted(day for day, _ in days if day is not None)
    return Outcome(
        scenario=scenario.name,
        runs=runs,
        decided=len(decided) / runs,
        decided_peeking=sum(peeked for _, peeked in days) / runs,
        median_day=decided[len(decided) // 2] if decided else None,
    )


def _run(scenario: Scenario, draws: random.Random) -> tuple[int | None, bool]:
    """The first day on which the comparison was decided, and whether an ordinary interval ever decided."""
    arms = [_ARMS[scenario.kind](draws, scenario.control), _ARMS[scenario.kind](draws, scenario.candidate)]
    planned, first, peeked = DAYS * sum(scenario.daily), None, False
    for day in range(1, DAYS + 1):
        control, candidate = (arm(units) for arm, units in zip(arms, scenario.daily, strict=True))
        peeked = peeked or _ordinary(control, candidate)
        if first is None and compare(control, candidate, planned_units=planned).decided:
            first = day
    return first, peeked


def _ordinary(control: Arm, candidate: Arm) -> bool:
    error = math.sqrt(control.variance / control.units + candidate.variance / candidate.units)
    enough = min(control.units, candidate.units) >= LEAST_UNITS
    return enough and abs(candidate.mean - control.mean) > Z * error


def _share(draws: random.Random, share: float) -> Callable[[int], Arm]:
    hits = total = 0

    def more(units: int) -> Arm:
        nonlocal hits, total
        hits, total = hits + bisect(_binomial(units, share), draws.random()), total + units
        return share_of_clusters(_single_decisions(hits, total))

    return more


def _single_decisions(hits: int, total: int) -> ClusterSums:
    """Conversations of one decision each."""
    return ClusterSums(
        units=total, hits=hits, size=total, hits_squared=hits, crossed=hits, size_squared=total
    )


@lru_cache
def _binomial(size: int, share: float) -> tuple[float, ...]:
    """The distribution function, so that one random number draws a count; the last is above any draw."""
    terms = (math.comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(size))
    return (*accumulate(terms),)


def _clusters(draws: random.Random, share: float) -> Callable[[int], Arm]:
    """Conversations of 1 to 8 decisions, which mostly share one fate."""
    sums = ClusterSums(units=0, hits=0, size=0, hits_squared=0, crossed=0, size_squared=0)

    def more(units: int) -> Arm:
        nonlocal sums
        found = [0.0] * 5
        for _ in range(units):
            size, own = draws.randint(1, 8), draws.betavariate(share, 1 - share)
            hits = sum(draws.random() < own for _ in range(size))
            for place, value in enumerate((hits, size, hits * hits, hits * size, size * size)):
                found[place] += value
        sums = ClusterSums(
            units=sums.units + units, hits=sums.hits + found[0], size=sums.size + found[1],
            hits_squared=sums.hits_squared + found[2], crossed=sums.crossed + found[3],
            size_squared=sums.size_squared + found[4],
        )  # fmt: skip
        return share_of_clusters(sums)

    return more


def _cost(draws: random.Random, median: float) -> Callable[[int], Arm]:
    total, summed, squares = 0, 0.0, 0.0

    def more(units: int) -> Arm:
        nonlocal total, summed, squares
        for _ in range(units):
            value = median * math.exp(draws.gauss(0, 1))
            summed, squares = summed + value, squares + value * value
        total += units
        return _measured_arm(total, summed=summed, squares=squares)

    return more


_ARMS: Final = {"share": _share, "clusters": _clusters, "cost": _cost}


def main() -> None:
    """Print one line for each scenario."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for scenario in SCENARIOS:
        print(json.dumps(asdict(simulate(scenario, runs=given.runs, seed=given.seed))), flush=True)


def _measured_arm(total: int, *, summed: float, squares: float) -> Arm:
    """An arm of independent units with a measure: its sum and the sum of its squares."""
    mean = summed / total if total else 0.0
    spread = max(0.0, squares - total * mean * mean)
    return Arm(units=total, mean=mean, variance=spread / (total - 1) if total > 1 else 0.0)


if __name__ == "__main__":
    main()
