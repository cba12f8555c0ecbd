"""Replies to natural questions in 27 languages: which of the right and of the wrong ones are sent."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.readings import reading, said
from tests.unit.assessment.samples import assessed
from worker.assessment import Evidence
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.model import Action, Message, MessageRole, Passage

ROWS = Path(__file__).parents[2] / "fixtures" / "assessment" / "natural_replies.jsonl"
POLICY = CalibratedPolicy()


@cache
def lines() -> tuple[dict[str, Any], ...]:
    """Documents and replies."""
    return tuple(json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines())


def replies(*, label: int) -> list[dict[str, Any]]:
    """The replies of a label: 1 for wrong ones."""
    return [line for line in lines() if line.get("label") == label]


def evidence_of(row: dict[str, Any]) -> Evidence:
    """Its documents and the conversation before it."""
    documents = {line["documents"]: line["passages"] for line in lines() if "passages" in line}
    passages = (
        Passage(passage_id=str(number), title=title, text=text, similarity=0.9)
        for number, (title, text) in enumerate(documents[row["documents"]])
    )
    history = (Message(role=MessageRole(role), text=text) for role, text in row.get("history", []))
    return Evidence(passages=tuple(passages), history=tuple(history))


def is_sent(row: dict[str, Any], answer: str | None) -> bool:
    """Whether the draft is sent after this answer of a judge; None: no judge."""
    found = assessed(row["draft"], POLICY, evidence_of(row), query=row["query"], answer=answer)
    return found.action is Action.SEND


def approval(row: dict[str, Any]) -> str:
    """The reading of a judge that supports every sentence that has quotes."""
    verdicts = (said("supported", *quotes) if quotes else said("no_claim") for quotes in row["quotes"])
    return reading(*verdicts)


def test_right_replies_are_sent() -> None:
    """Of those that a judge reads rightly at least 97 in 100 pass the checks in code."""
    rows = replies(label=0)
    held = [row["id"] for row in rows if not is_sent(row, approval(row))]
    print(f"held: {len(held)} of {len(rows)} right replies: {held}")

    assert len(rows) >= 200
    assert len(held) * 100 <= len(rows) * 3


def test_wrong_replies_are_held() -> None:
    """All that a judge refuses, and half of those that it approves with a quote that stands."""
    rows = replies(label=1)
    refused = reading(*(said("contradicted", probability=0.05) for _ in range(9)), relevance=0.1)
    passed = [row["id"] for row in rows if is_sent(row, approval(row))]
    print(f"sent: {len(passed)} of {len(rows)} wrong replies that the judge approves: {passed}")

    assert not [row["id"] for row in rows if is_sent(row, refused)]
    assert len(passed) * 2 <= len(rows)


def test_without_a_judge_only_copies_are_sent() -> None:
    """These replies are in own words, so that all of them wait for a person."""
    assert not [row["id"] for row in lines() if "draft" in row and is_sent(row, None)]
