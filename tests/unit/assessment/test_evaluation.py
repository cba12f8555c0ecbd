"""Figures of a report, against values worked out by hand or published; stored assessments stay the same."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.assess.figures import (
    PolicyOutcome,
    auroc,
    false_reject,
    policy_figures,
    risk_coverage,
    upper_bound,
)
from tests.support.golden_assessments import GOLDEN, POLICIES, golden_results


def outcomes(*pairs: tuple[float, int], sent_from: float = 0.5) -> list[PolicyOutcome]:
    """Outcomes from (confidence, ungrounded) pairs."""
    return [
        PolicyOutcome(confidence=c, ungrounded=bool(u), sent=c >= sent_from, judged=c == 0.5)
        for c, u in pairs
    ]


MIXED = outcomes((0.9, 0), (0.8, 0), (0.7, 1), (0.6, 0), (0.3, 1))


def test_auroc_counts_pairs() -> None:
    """Of 2 x 3 pairs, five are in order."""
    assert auroc(MIXED) == pytest.approx(5 / 6)


def test_auroc_counts_ties_half() -> None:
    """One confidence for all is chance."""
    assert auroc(outcomes((0.5, 0), (0.5, 1), (0.5, 1))) == 0.5


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_auroc(label: int) -> None:
    """Nothing to compare is no figure, not 0.5."""
    assert auroc(outcomes((0.2, label), (0.9, label))) is None
    assert false_reject(outcomes((0.2, label), (0.9, label)), recall=0.9) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=2, max_size=40))
def test_auroc_equals_its_definition(pairs: list[tuple[int, int]]) -> None:
    """Against the quadratic definition: wins plus half of the ties."""
    found = outcomes(*((c / 10, u) for c, u in pairs))
    bad = [c for c, u in pairs if u]
    good = [c for c, u in pairs if not u]
    if not bad or not good:
        assert auroc(found) is None
        return
    won = sum(1.0 if b < g else 0.5 if b == g else 0.0 for b in bad for g in good)

    assert auroc(found) == pytest.approx(won / (len(bad) * len(good)))


def test_risk_coverage_sends_the_most_confident_first() -> None:
    """Share sent, and share ungrounded among them."""
    assert risk_coverage(MIXED) == [
        (0.2, 0.0), (0.4, 0.0), (0.6, pytest.approx(1 / 3)), (0.8, 0.25), (1.0, pytest.approx(0.4)),
    ]  # fmt: skip


def test_all_figures_of_a_small_set() -> None:
    """Worked out by hand."""
    found = policy_figures(MIXED)

    assert (found.rows, found.ungrounded, found.sent, found.sent_ungrounded) == (5, 2, 4, 1)
    assert found.f1 == pytest.approx(2 * 1 / (1 + 2))
    assert found.best_f1 == pytest.approx(4 / 5)
    assert found.aurc == pytest.approx((0 + 0 + 1 / 3 + 1 / 4 + 2 / 5) / 5)
    assert found.coverage_at == {0.05: 0.4, 0.02: 0.4, 0.01: 0.4}
    assert found.false_reject == pytest.approx(1 / 3)
    assert found.judge_share == 0.0


def test_perfect_confidence_has_no_calibration_error() -> None:
    """0 for ungrounded, 1 for grounded."""
    assert policy_figures(outcomes((0.0, 1), (1.0, 0))).calibration_error == 0.0
    assert policy_figures(outcomes((1.0, 1), (1.0, 1))).calibration_error == 1.0


@pytest.mark.parametrize(
    ("wrong", "audited", "bound"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (0, 59, 0.0495),  # 59 clean audits are the least that show 5 % at 95 %
        (0, 300, 0.00994),
        (1, 100, 0.0466),
        (10, 100, 0.1637),
    ],
)
def test_the_upper_bound_is_clopper_pearsons(wrong: int, audited: int, bound: float) -> None:
    """One-sided 95 %; published tables. Zero found is never zero."""
    assert upper_bound(wrong, audited) == pytest.approx(bound, abs=1e-4)


def test_none_wrong_is_close_to_the_rule_of_three() -> None:
    """3 / n, and exactly 1 - 0.05 ** (1 / n)."""
    assert upper_bound(0, 1000) == pytest.approx(3 / 1000, rel=0.01)
    assert upper_bound(0, 1000) == pytest.approx(1 - math.pow(0.05, 1 / 1000), rel=1e-6)


def test_assessments_are_those_stored() -> None:
    """Every row under every policy that needs no judge; a change that is meant renews the file."""
    stored = json.loads(GOLDEN.read_text("utf-8"))
    found = golden_results()

    assert found.keys() == stored.keys()
    for key, expected in stored.items():
        assert found[key] == expected | {"confidence": pytest.approx(expected["confidence"], abs=1e-6)}, key


@pytest.mark.parametrize("policy", POLICIES)
def test_the_stored_rows_are_sent_and_refused(policy: str) -> None:
    """At least sixty rows, with both results under each policy."""
    stored = json.loads(GOLDEN.read_text("utf-8"))
    actions = [value["action"] for key, value in stored.items() if key.endswith(f" {policy}")]

    assert len(actions) >= 60
    assert {"send", "fallback"} <= set(actions)
