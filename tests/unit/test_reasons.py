"""Reason codes in words and in lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.deployment.config import REASONS_HEAD
from review.decision.remedies import remedy
from review.words import decisions as wording
from review.words import reasons as reason_labels
from worker.reasons import reasons_table


def test_every_reason_has_a_label_of_its_own() -> None:
    """Two reasons with one label could not be distinguished in a list."""
    assert len({wording.reason_label(name) for name in reason_labels.NAMES}) == len(reason_labels.NAMES)


def test_a_code_of_another_release_is_said_as_it_is() -> None:
    """Rather than hidden."""
    assert wording.reason_label("NEVER_HEARD_OF") == "NEVER_HEARD_OF"


def test_a_list_names_each_reason_once() -> None:
    """In any case, with spaces and empty parts."""
    assert reason_labels.parse_names(" failed ,FAILED,, llm_error") == ("failed", "LLM_ERROR")
    assert reason_labels.reason_codes(("TOO_LATE", "failed"))[0] == "TOO_LATE"
    assert reason_labels.reason_codes(("failed", "TOO_LATE")).count("TOO_LATE") == 1


@pytest.mark.parametrize(("text", "unknown"), [("REPLIED,who", "who"), (",", ","), ("", "")])
def test_what_is_no_reason_is_named(text: str, unknown: str) -> None:
    """So that a long list can be put right."""
    with pytest.raises(reason_labels.UnknownReason, match=f"^{unknown}$"):
        reason_labels.parse_names(text)


def test_the_stored_table_of_reasons_is_the_generated_one() -> None:
    """docs/reasons.md equals the output of `hushgate schema reasons`; `make schema` writes it."""
    stored = (Path(__file__).parents[2] / "docs" / "reasons.md").read_text()

    assert stored == REASONS_HEAD + reasons_table() + "\n"


@pytest.mark.parametrize(
    ("code", "rule", "route"),
    [
        ("LLM_REJECTED", None, "connect"),
        ("FLAGGED_RULE", "injection:override", "settings"),
        ("REPLY_FLAGGED_RULE", "flagged_phrase:free money", "rules"),
        ("LOW_CONFIDENCE", None, "documents"),
        ("OWNED_BY_PEOPLE", None, None),
        ("REPLIED", None, None),
        ("NEVER_HEARD_OF", None, None),
    ],
)
def test_a_reason_has_the_page_that_changes_it(code: str, rule: str | None, route: str | None) -> None:
    """None where the decision was as wanted, or is of a newer release."""
    page = remedy({"reason_code": code, "matched_rule": rule})

    assert (page and page.route) == route
