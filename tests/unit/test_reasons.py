"""Reason codes in words and in lists."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from cli.deployment.config import REASONS_HEAD
from review.decision.change_page import SETTINGS, change_page
from review.words import decisions as wording
from review.words import reasons as reason_labels
from worker.model import Account
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
    ("code", "rule", "route", "setting"),
    [
        ("LLM_REJECTED", None, "connect", ""),
        ("HELD_UNREAD", None, "connect", ""),
        ("FLAGGED_RULE", "injection:override", "settings", "injection_check"),
        ("REPLY_FLAGGED_RULE", "flagged_phrase:free money", "rules", ""),
        ("LOW_CONFIDENCE", None, "documents", ""),
        ("LOW_CONFIDENCE_ESCALATED", None, "documents", ""),
    ],
)
def test_a_reason_has_the_page_that_changes_it(code: str, rule: str | None, route: str, setting: str) -> None:
    """Or the setting; the settings are those of an account."""
    page = change_page({"reason_code": code, "matched_rule": rule})

    assert page is not None
    assert (page.route, page.setting) == (route, setting)
    assert set(SETTINGS.values()) <= {each.name for each in fields(Account)}


@pytest.mark.parametrize("code", ["OWNED_BY_PEOPLE", "REPLIED", "NEVER_HEARD_OF"])
def test_a_decision_as_wanted_has_no_page_that_changes_it(code: str) -> None:
    """Nor has one of a newer release."""
    assert change_page({"reason_code": code, "matched_rule": None}) is None
