"""Rows about relevance: how they are made, and what the shipped coefficients reach on rows of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from cli.assess.cases import assess_row
from cli.assess.rows import read_rows
from worker.assessment import default_policy
from worker.assessment.training.evaluation import PolicyOutcome, auroc
from worker.assessment.training.relevance_rows import RelevanceKind, relevance_rows
from worker.assessment.training.rows import AssessmentRow
from worker.model import Action, MessageRole

SHORT_ANSWERS = Path(__file__).parents[3] / "bench" / "short_answers.jsonl"


@cache
def own_rows() -> tuple[AssessmentRow, ...]:
    """Short answers in seven languages, written by us for the training and this test."""
    return read_rows(SHORT_ANSWERS, label="label")


@cache
def outcomes() -> tuple[tuple[RelevanceKind, PolicyOutcome], ...]:
    """Every made row with what ``calibrated`` says, without a judge."""
    policy, found = default_policy("calibrated"), []
    for row in relevance_rows(own_rows()):
        look, asked = assess_row(row, policy, None)
        outcome = PolicyOutcome(
            confidence=look.confidence,
            ungrounded=bool(row.ungrounded),
            sent=look.action is Action.SEND,
            judged=asked,
        )
        found.append((RelevanceKind(row.task), outcome))
    return tuple(found)


def made(rows: Sequence[AssessmentRow], kind: RelevanceKind) -> list[AssessmentRow]:
    """The rows of one kind."""
    return [row for row in relevance_rows(rows) if row.task == kind]


def test_every_grounded_reply_to_a_question_becomes_rows() -> None:
    """Passages stay, the label says whether the question is answered."""
    rows = own_rows()[:12]
    ungrounded, task = replace(rows[0], row_id="x", ungrounded=True), replace(rows[0], row_id="y", query="")
    all_made = list(relevance_rows([*rows, ungrounded, task]))

    assert len(made(rows, RelevanceKind.OWN)) == 12
    assert {row.row_id.split("/")[0] for row in all_made} == {row.row_id for row in rows}
    assert all(row.ungrounded is RelevanceKind(row.task).irrelevant for row in all_made)


def test_another_question_is_of_another_group() -> None:
    """Neighbours alone are about the same passages."""
    rows = own_rows()
    group_of = {row.query: row.group for row in rows}

    for kind in (RelevanceKind.OTHER, RelevanceKind.NEAREST, RelevanceKind.PREVIOUS):
        assert all(group_of[row.query] != row.group for row in made(rows, kind))
    assert all(group_of[row.query] == row.group for row in made(rows, RelevanceKind.NEIGHBOUR))


def test_a_cut_reply_says_nothing_new() -> None:
    """It ends before its first word of its own."""
    row = replace(own_rows()[0], query="Who founded the bakery?", response="The bakery was founded by Maria.")
    other = own_rows()[-1]
    (cut, *_) = made([row, other], RelevanceKind.CUT)

    assert cut.response == "The bakery was founded by"


def test_the_turn_before_is_part_of_the_row() -> None:
    """The reply repeats what was said to the question before."""
    row = made(own_rows(), RelevanceKind.PREVIOUS)[0]
    turns = row.evidence.history

    assert [turn.role for turn in turns] == [MessageRole.USER, MessageRole.ASSISTANT]
    assert (turns[1].text, turns[0].text != row.query) == (row.response, True)


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (RelevanceKind.OTHER, 0.96),
        (RelevanceKind.NEAREST, 0.93),
        (RelevanceKind.CUT, 0.95),
        (RelevanceKind.PREVIOUS, 0.97),
        (RelevanceKind.NEIGHBOUR, 0.89),
    ],
)
def test_the_confidence_separates_answers_from_answers_to_other_questions(
    kind: RelevanceKind, least: float
) -> None:
    """AUROC of the shipped coefficients on one-line answers, the hardest rows, with other questions."""
    chosen = [found for made_as, found in outcomes() if made_as in (RelevanceKind.OWN, kind)]
    figure = auroc(chosen)

    assert figure is not None
    assert figure >= least


def test_answers_to_other_groups_questions_are_hardly_ever_sent() -> None:
    """At most one in twenty without a judge, while two in three of the right ones are."""
    wrong = [
        found.sent
        for made_as, found in outcomes()
        if made_as.irrelevant and made_as is not RelevanceKind.NEIGHBOUR
    ]
    right = [found.sent for made_as, found in outcomes() if made_as is RelevanceKind.OWN]

    assert sum(wrong) <= len(wrong) / 20
    assert sum(right) >= len(right) * 2 / 3
