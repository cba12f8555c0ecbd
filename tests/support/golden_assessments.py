"""Assessments of stored rows by the policies that can decide without a judge, as a fixture.

``python -m tests.support.golden_assessments`` renews it. Do so when a change is meant to alter assessments,
and read the differences before you commit them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.assess.cases import assess_rows
from cli.assess.row_format import parse_row
from worker.assessment import Assessment, default_policy

FIXTURES = Path(__file__).parents[1] / "fixtures" / "assessment"
GOLDEN = FIXTURES / "golden.json"
ROW_FILES = ("ragtruth_sample.jsonl", "golden_rows.jsonl")
POLICIES = ("failsafe", "validators", "safety")


def golden_results() -> dict[str, dict[str, Any]]:
    """Row and policy -> confidence, tier, action, category and failed checks, without a judge."""
    lines = [line for name in ROW_FILES for line in (FIXTURES / name).read_text("utf-8").splitlines()]
    rows = [parse_row(json.loads(line)) for line in lines]
    return {
        f"{row.row_id} {name}": _result(found.assessment)
        for name in POLICIES
        for row, found in zip(rows, assess_rows(rows, default_policy(name)), strict=True)
    }


def _result(found: Assessment) -> dict[str, Any]:
    return {
        "confidence": round(found.confidence, 9),
        "tier": found.tier.value,
        "action": found.action.value,
        "category": str(found.category),
        "failed_checks": list(map(str, found.failed_checks)),
    }


def golden_text(results: dict[str, dict[str, Any]]) -> str:
    """The fixture's text: one result a line, so that differences can be read."""
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in results.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    GOLDEN.write_text(golden_text(golden_results()), "utf-8")
