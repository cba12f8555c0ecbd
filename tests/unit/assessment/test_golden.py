"""Stored assessments: no change of code alters a confidence, a tier or a failed check unnoticed."""

from __future__ import annotations

import json

import pytest

from tests.support.golden_assessments import GOLDEN, POLICIES, golden_results


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
