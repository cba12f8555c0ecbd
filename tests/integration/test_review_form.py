"""The review form without a browser, what an overturn must name, and the page of prompt and completion."""

from __future__ import annotations

import pytest

from db.people.records import Role
from tests.integration.test_review_pages import SEEN, path, send
from tests.support.audited import blocked, escalated, record, replied, rows
from tests.support.reviewing import Visitors, person_at
from tests.support.samples import passage
from worker.model import Decision

DRAFT = "We are open from nine to six on weekdays [1]."
HOURS = "The shop is old. We are open from nine to six on weekdays. Parking is free."
HOLD = """
    INSERT INTO held_drafts (user_id, conversation_id, message_id, decision_id, reason_code, kind, text,
        draft, passages, metadata, created_at, expires_at)
    SELECT user_id, conversation_id, message_id, id, reason_code, 'draft', %s, %s,
        '[{"id": "1#1", "title": "Opening hours", "text": "We close at noon.", "sha256": "abc"}]', '{}',
        now(), now() + interval '1 day'
    FROM ai_decisions WHERE id = %s
"""


def made(url: str, decided: Decision) -> Decision:
    """The decision, recorded."""
    record(url, decided)
    return decided


def test_only_reasons_that_fit_the_ending_are_offered(visitors: Visitors, database_url: str) -> None:
    """A reply, a block and a handoff have different reasons, each with its key."""
    reviewer, _ = person_at(visitors, database_url)
    offered = []
    for decided in (replied(), blocked(), escalated()):
        page = reviewer.get(path(made(database_url, decided))).text
        codes = ("WRONG_FACTS", "RULE_TOO_BROAD", "SHOULD_ANSWER", "CORRECT")
        offered.append([code for code in codes if f'name="reason" value="{code}"' in page])
        assert 'aria-keyshortcuts="x"' in page

    assert offered == [["WRONG_FACTS"], ["RULE_TOO_BROAD"], ["SHOULD_ANSWER"]]


def test_an_overturn_names_the_right_decision(visitors: Visitors, database_url: str) -> None:
    """Without one nothing is stored and the choice stays in the form; a reason that implies it is enough."""
    reviewer, _ = person_at(visitors, database_url)
    decided = made(database_url, replied())
    page = reviewer.get(path(decided))
    refused = send(reviewer, decided, page, ruling="overturn", reason="WRONG_FACTS")
    nothing = rows(database_url, "SELECT 1 FROM decision_reviews WHERE decision_id = %s", decided.decision_id)
    stored = send(reviewer, decided, page, ruling="overturn", reason="SHOULD_ESCALATE")
    corrected = rows(
        database_url,
        "SELECT corrected_decision FROM decision_reviews WHERE decision_id = %s",
        decided.decision_id,
    )

    assert refused.status_code == 400
    assert "corrected decision: expected ignore or escalate" in refused.text
    assert (
        'value="WRONG_FACTS" data-key="w" data-proposes="escalate" aria-keyshortcuts="w" checked'
        in refused.text
    )
    assert nothing == []
    assert stored.status_code == 303
    assert corrected == [{"corrected_decision": "escalate"}]


def test_something_else_needs_words(visitors: Visitors, database_url: str) -> None:
    """A reason that the note explains is stored with a note only; what was chosen stays in the form."""
    reviewer, _ = person_at(visitors, database_url)
    decided = made(database_url, blocked())
    page = reviewer.get(path(decided))
    chosen = {"ruling": "overturn", "reason": "OTHER", "corrected": "escalate"}
    refused = send(reviewer, decided, page, **chosen, note=" ")
    nothing = rows(database_url, "SELECT 1 FROM decision_reviews WHERE decision_id = %s", decided.decision_id)
    stored = send(reviewer, decided, page, **chosen, note="A quotation.")

    assert (refused.status_code, nothing, stored.status_code) == (400, [], 303)
    assert "Write the reason in the note." in refused.text
    assert 'aria-keyshortcuts="x" checked' in refused.text


def test_the_form_works_without_scripts(visitors: Visitors, database_url: str) -> None:
    """Every field of an overturn is in the page, and the bar that leads to the form is an anchor."""
    reviewer, _ = person_at(visitors, database_url)
    decided = made(database_url, blocked())
    page = reviewer.get(path(decided))
    stored = send(
        reviewer, decided, page, ruling="overturn", reason="OTHER", corrected="escalate", note="See the note."
    )

    assert '<a class="button main" href="#review">' in page.text
    assert SEEN.search(page.text)
    assert stored.status_code == 303


@pytest.fixture
def answered(database_url: str) -> Decision:
    """A reply with a draft, beside a draft that was not sent."""
    shown = passage(passage_id="1#1", title="Opening hours", text=HOURS)
    decided = made(database_url, replied(draft=DRAFT, passages=(shown,), prompt_hash="f" * 64))
    rows(database_url, HOLD, "We close at noon.", "We close at noon [1].", decided.decision_id)
    return decided


def test_prompt_and_completion_are_read_by_auditors_and_logged(
    visitors: Visitors, database_url: str, answered: Decision
) -> None:
    """An auditor reads the parts that are kept; sealed texts need the right to review too."""
    auditor, _ = person_at(visitors, database_url, Role.AUDITOR)
    both, _ = person_at(visitors, database_url, Role.AUDITOR, Role.REVIEWER)
    reviewer, _ = person_at(visitors, database_url)
    address = f"/decisions/{answered.decision_id}/prompt"
    seen, sealed, refused = auditor.get(address), both.get(address), reviewer.get(address)
    logged = rows(
        database_url,
        "SELECT detail ->> 'drafts' AS drafts FROM access_log WHERE decision_id = %s AND action = 'read'"
        " AND detail ->> 'prompt' = 'true' ORDER BY id",
        answered.decision_id,
    )

    assert DRAFT in seen.text
    assert "f" * 64 in seen.text
    assert "The prompt is not stored as one text." in seen.text
    assert "We close at noon" not in seen.text
    assert "Texts that were not sent are sealed." in seen.text
    assert "We close at noon [1]." in sealed.text
    assert refused.status_code == 403
    assert logged == [{"drafts": "0"}, {"drafts": "1"}]


def test_covered_texts_of_a_prompt_are_shown_on_request_only(visitors: Visitors, database_url: str) -> None:
    """The page has none of them before; showing them is logged."""
    auditor, person = person_at(visitors, database_url, Role.AUDITOR)
    rows(database_url, "UPDATE people SET covered = '{flagged_rule}' WHERE id = %s", person.person_id)
    decided = made(database_url, blocked(prompt_hash="f" * 64))
    address = f"/decisions/{decided.decision_id}/prompt"
    covered, shown = auditor.get(address), auditor.get(f"{address}?show=1")
    logged = rows(
        database_url,
        "SELECT action FROM access_log WHERE decision_id = %s ORDER BY id",
        decided.decision_id,
    )

    assert (decided.event.text in covered.text, decided.event.text in shown.text) == (False, True)
    assert [row["action"] for row in logged] == ["read", "reveal"]
