"""provenance.txt: every requirement of the five designs names code and tests that exist."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.unit.test_documentation import NAME, PATH, ROOT, TEST, has, is_test
from worker.assessment.policies.designs import DESIGNS

PAGE: Final = Path(__file__).with_name("provenance.txt")
NAMES: Final = {
    "F": ("FailsafeNode", "failsafe"),
    "G": ("Guardrail", "guardrail"),
    "V": ("Validation", "validators"),
    "S": ("Safety", "safety"),
    "Q": ("Silent Guardrails", ""),
}
"""Letter of a row -> design, and the policy that continues it."""


OF_EVERY_POLICY: Final = {"version", "gate", "test_mode", "low_action", "enabled"}
"""Fields that are not of one design; docs/confidence.md explains them."""


class Row(NamedTuple):
    """One requirement of a design."""

    number: str
    design: str
    requirement: str
    code: str
    tests: str
    chosen: str


ROWS: Final = tuple(
    Row(*(cell.strip() for cell in line.strip("|\n").split(" | ")))
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [A-Z]\d+ \| ", line)
)


def test_the_rows_are_numbered_by_design() -> None:
    """F1, F2 ... of each design without a gap, and no requirement twice."""
    counted = Counter(row.number[0] for row in ROWS)
    expected = [f"{letter}{number}" for letter in NAMES for number in range(1, counted[letter] + 1)]

    assert [row.number for row in ROWS] == expected
    assert [row.design for row in ROWS] == [NAMES[row.number[0]][0] for row in ROWS]
    assert [each for each, count in Counter(row[1:3] for row in ROWS).items() if count > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_requirement_names_code_and_tests_that_exist(row: Row) -> None:
    """Each module and name can be imported, each file is there, each test function is in the file named."""
    named, paths, tests = NAME.findall(row.code), PATH.findall(row.code), TEST.findall(row.tests)

    assert [f"{module}:{name}" for module, name in named if not has(module, name)] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [f"{file}::{test}" for file, test in tests if not is_test(file, test)] == []
    assert tests
    assert named or paths


@pytest.mark.parametrize("letter", [letter for letter, (_, policy) in NAMES.items() if policy])
def test_every_field_of_a_published_policy_is_a_requirement(letter: str) -> None:
    """Under its own or its published name, in a row of its design."""
    policy = NAMES[letter][1]
    text = "\n".join(" ".join(row) for row in ROWS if row.number[0] == letter)
    published = {field: name for name, field in DESIGNS[policy].published_names.items()}
    names = [field.name for field in fields(DESIGNS[policy].settings) if field.name not in OF_EVERY_POLICY]

    assert [name for name in names if name not in text and published.get(name, name) not in text] == []
