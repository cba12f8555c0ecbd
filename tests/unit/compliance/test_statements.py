"""Statements of reasons: official names, no guesses, no personal data."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from compliance.statements.statement import FIELDS, RestrictedMessage, statement
from tests.support.samples import account
from worker.account_settings import AccountRejected, changed
from worker.reasons import Reason
from worker.statement_grounds import EXAMPLE, parse_ground, parse_grounds

LABEL = Reason.FLAGGED_RULE.spec.label
ILLEGAL = EXAMPLE.replace("INCOMPATIBLE", "ILLEGAL")


def message(**changes: Any) -> RestrictedMessage:
    """A restricted message in German."""
    values: dict[str, Any] = {
        "puid": "01a20038-0a4e-7283-be93-352da35370fd",
        "reason": Reason.FLAGGED_RULE,
        "language": "de",
        "written_on": date(2026, 11, 1),
        "decided_on": date(2026, 11, 2),
        "lifted_on": None,
        "seen_by_person": False,
    }
    return RestrictedMessage(**values | changes)


def test_a_statement_has_the_official_fields() -> None:
    """Each field in its official form, in the order of the file."""
    made = statement(message(), parse_ground(EXAMPLE), ("de", "fr"))

    assert tuple(made) == FIELDS
    assert made == {
        "decision_visibility": ["DECISION_VISIBILITY_CONTENT_DISABLED"],
        "end_date_visibility_restriction": None,
        "decision_ground": "DECISION_GROUND_INCOMPATIBLE_CONTENT",
        "illegal_content_legal_ground": None,
        "illegal_content_explanation": None,
        "incompatible_content_ground": "Terms of use, section 4",
        "incompatible_content_explanation": "Insults are not allowed.",
        "content_type": ["CONTENT_TYPE_TEXT"],
        "category": "STATEMENT_CATEGORY_CYBER_VIOLENCE",
        "territorial_scope": ["DE", "FR"],
        "content_language": "DE",
        "content_date": "2026-11-01",
        "application_date": "2026-11-02",
        "decision_facts": f"An automated check ended the handling of the message: {LABEL}.",
        "source_type": "SOURCE_VOLUNTARY",
        "automated_detection": "Yes",
        "automated_decision": "AUTOMATED_DECISION_FULLY",
        "puid": "01a20038-0a4e-7283-be93-352da35370fd",
    }


def test_illegal_content_has_its_own_fields_and_a_lifted_restriction_an_end() -> None:
    """The reference is a law then; an overturned decision ends on the day of the review."""
    lifted = message(lifted_on=date(2026, 11, 9), seen_by_person=True, language="cmn")
    made = statement(lifted, parse_ground(ILLEGAL), ("de",))

    assert made["illegal_content_legal_ground"] == "Terms of use, section 4"
    assert made["incompatible_content_ground"] is None
    assert made["end_date_visibility_restriction"] == "2026-11-09"
    assert made["automated_decision"] == "AUTOMATED_DECISION_PARTIALLY"
    assert made["content_language"] is None


@pytest.mark.parametrize(
    "grounds",
    [
        {"REPLIED": EXAMPLE},
        {"NO_SUCH_REASON": EXAMPLE},
        {"FLAGGED_RULE": "insult"},
        {"FLAGGED_RULE": EXAMPLE.replace("CYBER_VIOLENCE", "RUDENESS")},
        {"FLAGGED_RULE": EXAMPLE.replace("CONTENT_DISABLED", "OTHER")},
        {"FLAGGED_RULE": EXAMPLE.replace("Terms of use, section 4", " ")},
    ],
)
def test_a_ground_that_cannot_be_used_is_not_stored(grounds: dict[str, str]) -> None:
    """A reason with a reply, an unknown name, a missing part."""
    with pytest.raises(AccountRejected, match="statement_grounds"):
        changed(account(), {"statement_grounds": grounds})


def test_grounds_that_cannot_be_read_are_left_out() -> None:
    """Also those of another release: none is guessed."""
    found = parse_grounds({"FLAGGED_RULE": EXAMPLE, "MODERATION_FLAGGED": "?", "LATER": EXAMPLE})

    assert list(found) == [Reason.FLAGGED_RULE]
    assert changed(account(), {"statement_countries": ["de"]}).statement_countries == ("de",)
    with pytest.raises(AccountRejected, match="statement_countries"):
        changed(account(), {"statement_countries": ["us"]})
