"""What a soak says of figures that grow, and of those that do not."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from rich.console import Console

from chaos.reports.report import Report
from chaos.soak.report import Grown, grown, show
from chaos.soak.run import SoakPlan, SoakResult
from chaos.soak.samples import MOST_PREPARED, Sample, open_files
from chaos.soak.slopes import slope

EMPTY = Report(
    commit="",
    command="make soak",
    seed=7,
    interrupted=False,
    seconds=7_200.0,
    load_average=2.0,
    figures={},
    faults={},
    breaches={},
    violations={},
    grown={},
    failed=(),
)
PLAN = SoakPlan(hours=2.0, load=0.6, workers=2, faults=4, seed=7, sample_s=30.0)


def series(
    per_hour: float, *, start: float = 200_000.0, noise: float = 800.0, lasting: float = 0.8, seed: int = 1
) -> list[tuple[float, float]]:
    """Two hours of samples of a figure whose noise lasts for a minute or two, or for longer."""
    rng, off, found = random.Random(seed), 0.0, []
    for number in range(240):
        off = lasting * off + rng.gauss(0, noise)
        found.append((number * 30.0, start + per_hour * number * 30.0 / 3_600 + off))
    return found


def test_a_leak_is_seen_with_its_size() -> None:
    """10 MB an hour, in kilobytes, under noise of about a megabyte."""
    found = [each for each in (slope(series(10_000, seed=seed)) for seed in range(100)) if each is not None]

    assert all(each.grows for each in found)
    assert sum(each.low <= 10_000 <= each.high for each in found) >= 85  # means are still a little alike


def test_a_flat_figure_is_seldom_called_a_leak() -> None:
    """Noise that lasts over several samples makes no slope."""
    found = [each for each in (slope(series(0, seed=seed)) for seed in range(100)) if each is not None]

    assert sum(each.grows for each in found) <= 2
    assert sum(each.low <= 0 <= each.high for each in found) >= 85


def test_waves_are_seldom_called_a_leak_and_a_leak_under_waves_is() -> None:
    """Connections rise and fall with the load for a quarter of an hour or more."""
    flat, leaking = (
        [slope(series(growth, start=70.0, noise=0.6, lasting=0.97, seed=seed)) for seed in range(200)]
        for growth in (0, 12)
    )

    assert sum(each is not None and each.grows for each in flat) <= 10  # 17 with means taken as independent
    assert sum(each is not None and each.grows for each in leaking) >= 190


def result(figures: dict[str, float]) -> SoakResult:
    """Two hours in which each figure grows by so much an hour."""
    samples = [
        Sample(
            at_s=at,
            published=int(at * 40),
            figures={name: 1_000 + growth * at / 3_600 for name, growth in figures.items()},
        )
        for at in (30.0 * number for number in range(240))
    ]
    return SoakResult(plan=PLAN, capacity_per_s=66.0, rate_per_s=40.0, seconds=7_170.0, samples=samples)


def by_name(found: tuple[Grown, ...]) -> dict[str, Grown]:
    """The figures by their names."""
    return {each.name: each for each in found}


def test_rows_may_grow_and_memory_may_not() -> None:
    """What is kept by intention is shown with its growth, and is no leak."""
    found = by_name(
        grown(
            result(
                {
                    "worker-1 (start 1): memory kB": 500.0,
                    "worker-2 (start 1): memory kB": 0.0,
                    "table messages: rows": 100_000.0,
                    "Valkey: keys {hushgate:events}:lane": 60.0,
                }
            )
        )
    )

    assert {name: each.verdict for name, each in found.items()} == {
        "worker-1 (start 1): memory kB": "GROWS",
        "worker-2 (start 1): memory kB": "flat",
        "table messages: rows": "kept",
        "Valkey: keys {hushgate:events}:lane": "GROWS",
    }
    assert found["table messages: rows"].per_1000 == pytest.approx(100_000 / 144, rel=1e-3)


@pytest.mark.parametrize(("per_hour", "verdict"), [(30.0, "within 110"), (60.0, "GROWS")])
def test_prepared_statements_may_rise_to_their_limit(per_hour: float, verdict: str) -> None:
    """A connection meets new statements for long, and keeps at most a number of them."""
    held = result({MOST_PREPARED: per_hour})
    for each in held.samples:
        assert isinstance(each.figures, dict)
        each.figures[MOST_PREPARED] -= 970

    assert [each.verdict for each in grown(held)] == [verdict]


def test_a_restarted_process_is_a_figure_of_its_own_with_its_own_warm_up() -> None:
    """Its memory rises while it starts, which is no leak."""
    held = result({"worker-1 (start 1): memory kB": 0.0})
    for each in held.samples[120:]:
        assert isinstance(each.figures, dict)
        del each.figures["worker-1 (start 1): memory kB"]
        each.figures["worker-1 (start 2): memory kB"] = min(5_000.0, each.at_s - 3_000)

    found = by_name(grown(held))["worker-1 (start 2): memory kB"]

    assert found.points[0][0] == 120 * 30.0 + 900
    assert grown(SoakResult(plan=PLAN)) == ()


def test_the_open_files_of_workers_are_one_figure() -> None:
    """A connection that moves from one to the other is no leak; a restarted worker begins a new figure."""
    before = {"beat (start 1)": 8, "worker-1 (start 1)": 100, "worker-2 (start 1)": 91}
    moved = before | {"worker-1 (start 1)": 92, "worker-2 (start 1)": 99}

    assert dict(open_files(before)) == dict(open_files(moved))
    assert dict(open_files(before)) == {
        "beat (start 1): open files": 8,
        "workers 1 (start 1), 2 (start 1): open files": 191,
    }
    assert dict(open_files({"worker-1 (start 2)": 100})) == {"workers 1 (start 2): open files": 100}
    assert dict(open_files({})) == {}


@pytest.mark.parametrize(
    ("hours", "load", "interrupted", "is_whole"),
    [(2.0, 1.0, False, True), (0.4, 1.0, False, False), (2.0, 1.0, True, False), (2.0, 0.5, False, False)],
    ids=["whole", "too short", "interrupted", "too little load"],
)
def test_a_soak_that_judged_too_little_does_not_pass(
    hours: float, load: float, interrupted: bool, is_whole: bool
) -> None:
    """After the warm-up there must be half an hour of samples, under the planned load and to the end."""
    held = result({"worker-1 (start 1): memory kB": 0.0, "table messages: rows": 100.0})
    held.samples = [
        replace(each, published=int(each.published * load))
        for each in held.samples
        if each.at_s <= hours * 3_600
    ]
    held.report = replace(EMPTY, interrupted=interrupted)

    assert show(held, Console(file=io.StringIO())) is is_whole
