"""The generic cell rate algorithm of one process."""

from __future__ import annotations

import pytest

from worker.rates import MOST_KEYS, LocalRates, RateLimit

LIMIT = RateLimit(per_minute=30, burst=3)


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    """Three at once, then one every two seconds; what is refused costs nothing."""
    rates = LocalRates()
    waits = [rates.take("a", LIMIT, now_s).wait_s for now_s in (0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 60.0)]

    assert waits == pytest.approx([0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 2.0, 0.0])
    assert rates.take("b", LIMIT, 0.0).wait_s == 0.0


def test_a_part_is_taken_when_it_is_useful() -> None:
    """Up to the wanted amount, at least the useful one; 0 wanted takes nothing."""
    rates = LocalRates()
    taken = [rates.take("a", LIMIT, 0.0, wanted=wanted, least=least) for wanted, least in ((0, 0), (9, 1))]
    debt = LocalRates().take("a", LIMIT, 0.0, wanted=9, least=9)

    assert [(each.amount, each.left) for each in taken] == [(0, 3), (3, 0)]
    assert (debt.amount, debt.left) == (9, -6)


def test_keys_that_were_used_long_ago_are_forgotten() -> None:
    """Memory stays bounded, however many addresses ask."""
    rates = LocalRates()
    for number in range(MOST_KEYS + 5):
        rates.take(number, LIMIT, 0.0)

    assert len(rates._free_s) == MOST_KEYS
