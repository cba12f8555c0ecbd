"""Reliability bins, calibration error and certified thresholds against their definitions."""

from __future__ import annotations

import random

import pytest
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from trials.pure.statistics.precision import certified_threshold, reviews_needed
from worker.statistics.reliability import calibration_error, reliability_bins
from worker.statistics.shares import Observation, SampleRejected


def drawn(seed: int, number: int, *, weights: tuple[float, ...] = (1.0,)) -> list[Observation]:
    """Observations whose score is their chance of being a hit."""
    draws = random.Random(seed)
    found = []
    for _ in range(number):
        score = draws.random()
        found.append(Observation(hit=draws.random() < score, weight=draws.choice(weights), score=score))
    return found


def test_the_error_is_the_weighted_gap_of_the_bins() -> None:
    """Two bins by hand: 0.1 with half hits of weight 2, and 0.9 with all hits of weight 6."""
    held = [
        Observation(hit=True, weight=1, score=0.1),
        Observation(hit=False, weight=1, score=0.1),
        Observation(hit=True, weight=6, score=0.9),
    ]
    bins = reliability_bins(held)

    assert [(each.low, each.high) for each in bins] == [(0.1, 0.2), (0.9, 1.0)]
    assert [each.score for each in bins] == pytest.approx([0.1, 0.9])
    assert [each.weight for each in bins] == [0.25, 0.75]
    assert calibration_error(bins) == pytest.approx(0.25 * 0.4 + 0.75 * 0.1)


def test_a_weight_counts_as_so_many_observations() -> None:
    """The same bins and error as when each observation is repeated as often as it weighs."""
    weighed = drawn(1, 300, weights=(1.0, 2.0, 3.0))
    repeated = [
        Observation(hit=each.hit, score=each.score) for each in weighed for _ in range(int(each.weight))
    ]

    assert calibration_error(reliability_bins(weighed)) == pytest.approx(
        calibration_error(reliability_bins(repeated))
    )


def test_scores_that_are_the_true_chance_have_little_error() -> None:
    """And those of the opposite much; a score of 1 is in the last bin; nothing has no error."""
    held = drawn(2, 4000)
    opposite = [Observation(hit=not each.hit, score=each.score) for each in held]
    good, bad = calibration_error(reliability_bins(held)), calibration_error(reliability_bins(opposite))

    assert good is not None
    assert bad is not None
    assert good < 0.03
    assert bad > 0.4
    assert reliability_bins([Observation(hit=True, score=1.0)])[0].high == 1.0
    assert calibration_error(()) is None


def test_the_threshold_is_the_lowest_that_holm_certifies() -> None:
    """The tests by scipy's binomial tail, the correction by statsmodels; all weights are alike."""
    held = drawn(3, 500)
    scores = sorted(each.score for each in held)
    thresholds = sorted({scores[max(0, -(-500 * (10 + 5 * n) // 100) - 1)] for n in range(17)})
    chances = []
    for threshold in thresholds:
        kept = [each for each in held if each.score >= threshold]
        chances.append(binom.cdf(sum(not each.hit for each in kept), len(kept), 0.3))
    certified, *_ = multipletests(chances, alpha=0.1, method="holm")
    wanted = min(each for each, fine in zip(thresholds, certified, strict=True) if fine)
    found = certified_threshold(held, 0.7)

    assert found is not None
    assert found.threshold == wanted
    kept = [each for each in held if each.score >= wanted]
    assert (found.precision.hits, found.precision.total) == (sum(each.hit for each in kept), len(kept))
    assert found.coverage.share == pytest.approx(len(kept) / 500)
    assert found.precision.low <= found.precision.share <= found.precision.high


def test_a_certificate_holds_in_nine_of_ten_weighted_samples() -> None:
    """The true precision from t on is (1 + t) / 2 whatever the weights; the wanted one is 0.8."""
    kept = given = 0
    for seed in range(100):
        found = certified_threshold(drawn(1000 + seed, 600, weights=(1.0, 5.0)), 0.8)
        given += found is not None
        kept += found is None or (1 + found.threshold) / 2 >= 0.8

    assert given > 60
    assert kept / 100 >= 0.9


def test_too_few_reviews_certify_nothing() -> None:
    """And it is known how many are needed: so many that are all right, kept at the lowest threshold."""
    needed = reviews_needed(0.9)
    assert needed == 49

    def right(number: int) -> list[Observation]:
        return [Observation(hit=True, score=0.5) for _ in range(number)]

    assert certified_threshold(right(21), 0.9) is None
    assert certified_threshold(right(needed), 0.9) is not None
    assert certified_threshold((), 0.9) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        reviews_needed(1.0)


def test_a_sample_of_zero_weights_is_refused() -> None:
    """By every figure."""
    held = [Observation(hit=True, weight=0.0)]
    with pytest.raises(SampleRejected):
        reliability_bins(held)
    with pytest.raises(SampleRejected):
        certified_threshold(held, 0.9)
