"""Stored assessments: no change of code alters a confidence, a tier or a failed check unnoticed."""

from __future__ import annotations

import json

import pytest

from tests.support.golden_assessments import GOLDEN, golden_results
from worker.assessment.policies.designs import DESIGNS


def test_assessments_are_those_stored() -> None:
    """Every row under every policy; a change that is meant renews the file (its module says how)."""
    stored = json.loads(GOLDEN.read_text("utf-8"))
    found = golden_results()

    assert found.keys() == stored.keys()
    for key, expected in stored.items():
        assert found[key] == expected | {"confidence": pytest.approx(expected["confidence"], abs=1e-6)}, key


def test_the_stored_rows_reach_every_tier() -> None:
    """The rows are sent, undecided and refused by ``calibrated``; there are at least sixty."""
    stored = json.loads(GOLDEN.read_text("utf-8"))
    tiers = {value["tier"] for key, value in stored.items() if key.endswith(" calibrated")}

    assert len(stored) >= 60 * len(DESIGNS)
    assert tiers == {"high", "medium", "low"}
