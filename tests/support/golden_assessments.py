"""Assessments of stored rows by every policy, as a fixture.

``python -m tests.support.golden_assessments`` renews it. Do so when a change is meant to alter assessments,
and read the differences before you commit them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worker.assessment.judge import unavailable_answer
from worker.assessment.training.rows import AssessmentRow, parse_row

from worker.assessment import Assessment, assess_without_judge, assessment_from_answers, default_policy
from worker.assessment.policies.designs import DESIGNS

FIXTURES = Path(__file__).parents[1] / "fixtures" / "assessment"
GOLDEN = FIXTURES / "golden.json"
ROW_FILES = ("ragtruth_sample.jsonl", "golden_rows.jsonl")


def golden_results() -> dict[str, dict[str, Any]]:
    """Row and policy -> confidence, tier, action, category and failed checks; every judge is unavailable."""
    lines = [line for name in ROW_FILES for line in (FIXTURES / name).read_text("utf-8").splitlines()]
    rows = [parse_row(json.loads(line)) for line in lines]
    return {f"{row.row_id} {design}": _result(row, design) for row in rows for design in DESIGNS}


def _result(row: AssessmentRow, design: str) -> dict[str, Any]:
    found = assess_without_judge(
        query=row.query, evidence=row.evidence, draft=row.response, policy=default_policy(design)
    )
    if not isinstance(found, Assessment):
        found = assessment_from_answers(found, [unavailable_answer("none")] * len(found.questions))
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
