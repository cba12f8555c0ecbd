"""How many events of a chaos run may end as failures of the models."""

from __future__ import annotations

import pytest

from chaos.laws.endings import wrong_endings
from chaos.laws.observations import DecisionRow, EventKind, Observations, PublishedEvent


def run_with(questions: int, failed: int) -> Observations:
    """A run of questions of which some had no answer of a model; further events need none."""
    kinds = [EventKind.QUESTION] * questions + [EventKind.OFF] * questions
    reasons = ["LLM_ERROR"] * failed + ["REPLIED"] * (questions - failed) + ["AI_DISABLED"] * questions
    names = [f"e{number}" for number in range(len(kinds))]
    return Observations(
        published={
            name: PublishedEvent(name=name, conversation=name, kind=kind)
            for name, kind in zip(names, kinds, strict=True)
        },
        decisions=tuple(
            DecisionRow(decision_id=f"d-{name}", name=name, decision="ignore", reason=reason)
            for name, reason in zip(names, reasons, strict=True)
        ),
    )


@pytest.mark.parametrize(("questions", "most"), [(34, 12), (120, 12), (130, 13), (294, 29), (1_000, 100)])
def test_a_tenth_of_the_events_that_need_models_may_fail(questions: int, most: int) -> None:
    """In a short run as many as one storm ends; the run of ``make test`` has about 294 that need models."""
    assert not list(wrong_endings(run_with(questions, most)))
    assert list(wrong_endings(run_with(questions, most + 1))) == [
        f"{most + 1} of {questions} events ended as failures of the models"
    ]
