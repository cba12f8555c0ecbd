"""One decision as `hushgate decisions show` prints it."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from cli.decisions.view import decision_details
from review.decision.clauses import ExplanationFacts
from review.decision.notices import notices
from tests.unit.test_snapshot import stored
from worker.snapshot import Snapshot

ROW: dict[str, Any] = dict.fromkeys(
    (
        "id",
        "created_at",
        "user_id",
        "scope",
        "conversation_id",
        "author_id",
        "message_text",
        "confidence",
        "matched_rule",
        "reply_text",
        "reply_draft",
        "reason",
    ),
    "x",
) | {
    "decision": "ignore",
    "reason_code": "FLAGGED_RULE",
    "assessed": False,
    "reviews": [],
    "candidate_id": None,
}


def test_passages_left_out_and_masked_data_are_shown() -> None:
    """With passage and check, and the number of values of each kind."""
    console = Console(width=200, record=True)
    for part in decision_details(ROW | {"snapshot_json": stored()}):
        console.print(part)
    shown = console.export_text()

    assert "injection:override" in shown
    assert "2#1" in shown
    assert '"email":2' in shown.replace(" ", "")


def test_a_notice_counts_the_passages_left_out() -> None:
    """A reviewer sees it above the texts."""
    facts = ExplanationFacts(row=ROW, snapshot=Snapshot.from_json(stored()))

    assert any("not shown to the language model" in each for each in notices(facts))


def test_the_tokens_of_each_of_several_models_are_printed() -> None:
    """With one model the sum says it."""
    spent = {"m": {"prompt": 7, "completion": 3}, "big": {"prompt": 20, "completion": 5}}
    console = Console(width=200, record=True, file=StringIO())
    for tokens in (spent, {"m": spent["m"]}):
        for part in decision_details(ROW | {"snapshot_json": stored() | {"tokens_by_model": tokens}}):
            console.print(part)
    text = console.export_text()

    assert text.count("tokens by model") == 1
    assert '"big":{"prompt":20,"completion":5}' in text.replace(" ", "")
