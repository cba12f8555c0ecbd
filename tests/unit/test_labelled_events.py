"""Labels of an event restrict the documents under every policy, also under the one that checks them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import account, event, passage
from tests.unit.test_pipeline import ANSWER, SEARCH, World
from worker.model import Event
from worker.reasons import Reason

RIGHT = passage(1, metadata={"grade": "5"})
WRONG = passage(2, title="Algebra", text="Quadratic equations have two roots.", metadata={"grade": "9"})
SAFETY: dict[str, Any] = {"name": "safety", "min_total_context_length": 0}


def asked() -> Event:
    return event(metadata={"labels": {"grade": "5"}})


@pytest.mark.parametrize("model", [[ANSWER], [SEARCH, ANSWER]])
async def test_a_passage_without_the_labels_of_the_event_is_in_no_prompt(model: list[Any]) -> None:
    """Neither from the first search, which the policy's topic check needs whole, nor from a tool's."""
    world = World(model=model, found=[(WRONG, RIGHT)])
    decision = await world.decide(asked(), account(assessment_policy=SAFETY))
    shown = "".join(str(prompt) for prompt in world.model.asked)

    assert decision.reason_code == Reason.REPLIED
    assert (RIGHT.text in shown, WRONG.text in shown) == (True, False)
    assert decision.passages == (RIGHT,)


async def test_a_question_whose_passages_all_have_other_labels_is_off_topic() -> None:
    """The check still sees them, and the audit names it."""
    decision = await World(found=[(WRONG,)]).decide(asked(), account(assessment_policy=SAFETY))

    assert decision.reason_code == Reason.FALLBACK_SENT
    assert decision.assessment is not None
    assert decision.assessment.category == "off_topic"


async def test_headings_of_documents_with_other_labels_are_not_suggested() -> None:
    """Neither those that the check saw nor those of the wider search."""
    world = World(found=[(WRONG,), (WRONG, passage(3, title="Fractions", metadata={"grade": "5"}))])
    decision = await world.decide(asked(), account(assessment_policy={**SAFETY, "suggest_questions": True}))

    assert (decision.reply or "").endswith("You could ask about:\n- Fractions")
