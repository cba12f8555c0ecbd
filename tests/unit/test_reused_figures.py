"""Figures that took long to count are shown again for a while; others are counted each time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from review.dashboard import reused
from review.dashboard.reused import ReusedFigures

NOW = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)


def counter(took_s: float = 0.0) -> Callable[[], Awaitable[int]]:
    """Counts how often it was asked."""
    numbers = count(1)

    async def counted() -> int:
        await asyncio.sleep(took_s)
        return next(numbers)

    return counted


def found(
    figures: ReusedFigures, counted: Callable[[], Awaitable[int]], after_s: float, key: str = "a"
) -> int:
    """What is shown so many seconds later."""
    return asyncio.run(figures.get(key, NOW + timedelta(seconds=after_s), counted)).value


def test_slow_figures_are_reused_until_their_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the time at which they were counted."""
    monkeypatch.setattr(reused, "SLOW_S", 0.001)
    figures, slow = ReusedFigures(reuse_s=60), counter(0.002)

    assert [found(figures, slow, after_s) for after_s in (0, 30, 59, 60, 61)] == [1, 1, 1, 2, 2]
    assert asyncio.run(figures.get("a", NOW + timedelta(seconds=90), slow)).at == NOW + timedelta(seconds=60)


def test_fast_figures_are_always_counted() -> None:
    """Small installations see every review at once."""
    figures, fast = ReusedFigures(reuse_s=60), counter()

    assert [found(figures, fast, after_s) for after_s in (0, 1)] == [1, 2]


def test_nothing_is_reused_without_a_time_or_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead who sets a goal sees it."""
    monkeypatch.setattr(reused, "SLOW_S", 0.0)
    never, figures, slow = ReusedFigures(), ReusedFigures(reuse_s=60), counter(0.001)

    assert [found(never, slow, 0), found(never, slow, 1)] == [1, 2]
    assert [found(figures, slow, 0), found(figures, slow, 1)] == [3, 3]
    figures.forget()
    assert found(figures, slow, 2) == 4


def test_the_least_recently_used_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key has its own figures."""
    monkeypatch.setattr(reused, "SLOW_S", 0.0)
    monkeypatch.setattr(reused, "MOST", 2)
    figures, slow = ReusedFigures(reuse_s=60), counter(0.001)

    shown = [found(figures, slow, 0, key) for key in ("a", "b", "a", "c", "a", "b")]

    assert shown == [1, 2, 1, 3, 1, 4]
