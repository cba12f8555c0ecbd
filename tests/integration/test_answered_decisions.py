"""What a person answered is one state: on pages, in lists, filters and files, and for programs."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final

import orjson
import pytest
from typer.testing import CliRunner

from cli.main import command_line
from db.answers.records import AnswerOutcome
from db.answers.state import AnswerState
from db.people.records import Role
from review.decision.explanation import ANSWERED
from review.words.states import ANSWER_STATES
from tests.integration import test_answers
from tests.integration.test_answers import QUESTION, Desk, answer, form_of
from tests.integration.test_decision_lists import exported
from tests.support.queues import hand_queue
from tests.support.reviewing import Visitor, add_person

desk = test_answers.desk
BADGES: Final = {each: f">{text}</span>" for each, text in ANSWER_STATES.items()}
FORMS: Final[dict[AnswerState, dict[str, str]]] = {
    AnswerState.APPROVED: {"action": "approve"},
    AnswerState.EDITED: {"action": "edit", "text": "From nine, as always."},
    AnswerState.WRITTEN: {"action": "write", "text": "An own answer."},
    AnswerState.DISMISSED: {"action": "dismiss"},
}


@pytest.fixture(scope="module")
def lead(desk: Desk) -> Visitor:
    """A reviewer and lead of every account, who may export."""
    return desk.person(Role.REVIEWER, Role.LEAD)


def answered(desk: Desk, lead: Visitor, state: AnswerState) -> tuple[dict[str, Any], str | None]:
    """A decision with a person's answer, and the text that was sent."""
    row = desk.suggested()
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", row["id"])
    assert held is not None
    assert answer(lead, row, form_of(lead, row), **FORMS[state]).status_code == 303
    sent = {AnswerState.APPROVED: held["text"], AnswerState.DISMISSED: None}
    return row, sent.get(state, FORMS[state].get("text"))


PRE: Final = re.compile(r"<pre>(.*)</pre>", re.DOTALL)
NO_REPLY: Final = re.compile(r'<dt>No reply</dt>\s*<dd class="value"><a href="[^"]*(decision=[^"]*)">1</a>')
FIGURE: Final = re.compile(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>")


def test_the_home_and_figures_count_what_people_answered(desk: Desk, lead: Visitor) -> None:
    """Of four messages three are answered, one is closed, and none of them waits."""
    user_id = desk.engine.account(documents=test_answers.HOURS, reply_mode="suggest")
    for state in AnswerState:
        row = desk.engine.decide(user_id, QUESTION, conversation_id=state.value)
        answer(lead, row, form_of(lead, row), **FORMS[state])
    page = lead.get(f"/accounts/{user_id}/home").text
    found = dict(FIGURE.findall(page))
    query = {"account": user_id, "range": "24h"}
    totals = lead.client.get("/api/v1/figures", params=query).json()["totals"]
    dashboard = lead.get(f"/dashboard?account={user_id}").text
    listed = lead.get(f"/decisions?account={user_id}&{unescape(NO_REPLY.findall(dashboard)[0])}").text

    assert [found[f"Answered {each}"] for each in ("today", "in 7 days")] == ["3", "3"]
    assert (found["Not answered in 7 days"], found["Waiting for you"]) == ("1", "0")
    assert "A person closed it without an answer" in page
    assert "Waits until a person approves it" not in page
    assert FORMS[AnswerState.EDITED]["text"] in page
    assert (totals["decisions"], totals["answered"], totals["silent"]) == (4, 3, 1)
    assert listed.count("<tr data-row") == 1
    assert "answered=yes" in dashboard


@pytest.mark.parametrize("state", AnswerState)
def test_the_page_list_and_programs_say_what_a_person_answered(
    desk: Desk,
    lead: Visitor,
    state: AnswerState,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing waits any more, and a text that was sent is shown as sent."""
    row, sent = answered(desk, lead, state)
    page = lead.get(f"/decisions/{row['id']}").text
    listed = lead.get(f"/decisions?account={row['user_id']}").text
    monkeypatch.setenv("DATABASE_URL", desk.engine.url)
    shell = CliRunner().invoke(
        command_line(), ["decisions", "list", "--account", row["user_id"], "--json", "all"]
    )
    programs = [
        lead.client.get(f"/api/v1/decisions/{row['id']}").json(),
        *lead.client.get("/api/v1/decisions", params={"account": row["user_id"]}).json()["decisions"],
        orjson.loads(shell.stdout),
    ]

    assert ANSWERED[state].split("%(person)s")[1] in page
    assert BADGES[state] in page
    assert BADGES[state] in listed
    assert ("Nothing was sent.</p>" in page) is (sent is None)
    assert "not sent</h3>" not in page or sent is None or state is not AnswerState.APPROVED
    assert "Draft held back" not in listed
    assert [sent in each for each in (page, listed)] == [True, True] if sent else True
    assert [(each["answered"], each["answer_text"]) for each in programs] == [(state, sent)] * 3
    assert {each["answered_by"] for each in programs} == {lead_login(desk, row)}
    assert all(each["answered_at"] for each in programs)


def lead_login(desk: Desk, row: dict[str, Any]) -> str:
    """Who answered."""
    found = desk.engine.row("SELECT person FROM answers WHERE decision_id = %s", row["id"])
    assert found is not None
    return str(found["person"])


def test_lists_are_filtered_by_the_answer(desk: Desk, lead: Visitor) -> None:
    """Each state, any text, and none; what a person closed without an answer is not answered."""
    found = {state: answered(desk, lead, state)[0] for state in AnswerState}
    waits = desk.suggested()
    ids = {str(row["id"]): state.value for state, row in found.items()} | {str(waits["id"]): "waits"}

    def matching(value: str) -> set[str]:
        body = lead.client.get("/api/v1/decisions", params={"answered": value, "limit": "500"}).json()
        return {ids[each["id"]] for each in body["decisions"] if each["id"] in ids}

    assert {each: matching(each) for each in AnswerState} == {each: {each.value} for each in AnswerState}
    assert matching("yes") == {"approved", "edited", "written"}
    assert matching("no") == {"dismissed", "waits"}


def test_an_answer_that_was_taken_back_is_none(desk: Desk, lead: Visitor) -> None:
    """Cancelled in the outbox: the message is shown as unanswered."""
    row, _ = answered(desk, lead, AnswerState.WRITTEN)
    desk.engine.database.execute(
        "UPDATE outbox SET cancelled_at = now(), cancel_reason = 'too_late', delivered_at = NULL"
        " WHERE user_id = %s AND origin = 'person'",
        (row["user_id"],),
    )
    found = lead.client.get(f"/api/v1/decisions/{row['id']}").json()

    assert (found["answered"], found["answered_by"], found["answer_text"]) == (None, None, None)
    assert BADGES[AnswerState.WRITTEN] not in lead.get(f"/decisions?account={row['user_id']}").text


def test_an_export_says_who_reviewed_and_who_answered(desk: Desk, lead: Visitor) -> None:
    """With note and time, and the version of the settings that decided."""
    row, sent = answered(desk, lead, AnswerState.EDITED)
    seen = {"seen": "", "ruling": "agree", "note": "Right to ask."}
    assert lead.post(f"/decisions/{row['id']}/review", **seen).status_code == 303
    job = exported(lead, f"account={row['user_id']}", format="csv")
    (line,) = csv.DictReader(io.StringIO(lead.get(f"{job}/file").text))
    login = lead_login(desk, row)

    assert (line["answered"], line["answered_by"], line["answer_text"]) == ("edited", login, sent)
    assert (line["review"], line["reviewed_by"], line["review_note"]) == ("agree", login, "Right to ask.")
    assert line["settings_version"] == str(row["snapshot_json"]["rules_version"])
    for name in ("answered_at", "reviewed_at"):
        assert abs((datetime.now(UTC) - datetime.fromisoformat(line[name])).total_seconds()) < 60


def test_a_case_file_has_everything_of_a_decision(desk: Desk, lead: Visitor) -> None:
    """Message, draft, quotes, settings, reviews with notes and the answer; logged as a download."""
    row, sent = answered(desk, lead, AnswerState.EDITED)
    review = {"seen": "", "ruling": "agree", "note": "Right to <ask>."}
    assert lead.post(f"/decisions/{row['id']}/review", **review).status_code == 303
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", row["id"])
    viewer = desk.person(Role.VIEWER)
    found, seen = (each.get(f"/decisions/{row['id']}/case") for each in (lead, viewer))
    case, limited = (orjson.loads(unescape(PRE.findall(each.text)[0])) for each in (found, seen))
    logged = desk.engine.rows(
        "SELECT count(*) AS lines FROM access_log WHERE decision_id = %s AND action = 'download'", row["id"]
    )

    assert held is not None
    assert found.headers["content-disposition"] == f'attachment; filename="case-{row["id"]}.html"'
    assert "Right to &lt;ask&gt;." in found.text
    assert (case["outcome"]["answered"], case["answers"][0]["text"]) == ("edited", sent)
    assert case["message"]["text"] == QUESTION
    assert [each["text"] for each in case["drafts"]] == [held["text"]]
    assert [each["note"] for each in case["reviews"]] == ["Right to <ask>."]
    assert case["settings"]["used"]["version"] == row["snapshot_json"]["rules_version"]
    assert case["snapshot"]["assessment"]["sentences"]
    assert limited["drafts"] == []
    assert limited["answers"][0]["text"] == sent
    assert logged == [{"lines": 2}]


def test_a_case_file_waits_for_a_blind_review(desk: Desk, lead: Visitor) -> None:
    """It has what others said; and it is for people who may see the decision."""
    row, second = desk.escalated(), desk.person(Role.REVIEWER)
    queue = hand_queue(desk.engine.url, f"case {row['id']}", {row["id"]: row["created_at"]})
    second.get("/queues")
    second.post(f"/queues/{queue}/next")
    stranger = desk.visitor()
    stranger.sign_in(add_person(desk.engine.url, Role.VIEWER, account="elsewhere"))
    path = f"/decisions/{row['id']}/case"

    assert [each.get(path).status_code for each in (second, stranger, lead)] == [409, 404, 200]


def test_every_outcome_has_a_state(desk: Desk) -> None:
    """The view knows what ``answers`` stores."""
    found = desk.engine.rows("SELECT pg_get_viewdef('answered_decisions'::regclass) AS text")
    assert all(f"'{each}'" in found[0]["text"] for each in AnswerState)
    assert len(AnswerOutcome) == len(AnswerState) + 1  # replaced and written are one


def test_a_queue_item_shows_the_draft_and_nothing_of_others(desk: Desk, lead: Visitor) -> None:
    """A reviewer rules on a text that they read; whether another person answered stays hidden."""
    row, second = desk.escalated(), desk.person(Role.REVIEWER)
    held = desk.engine.row("SELECT text FROM held_drafts WHERE decision_id = %s", row["id"])
    queue = hand_queue(desk.engine.url, f"blind {row['id']}", {row["id"]: row["created_at"]})
    second.get("/queues")
    address = second.post(f"/queues/{queue}/next").headers["location"]
    before = second.get(address).text
    answer(lead, row, form_of(lead, row), action="write", text="An answer of a colleague.")
    page = second.get(address).text
    listed, home = (
        second.get(each).text
        for each in (f"/decisions?account={row['user_id']}", f"/accounts/{row['user_id']}/home")
    )
    found = second.client.get(f"/api/v1/decisions/{row['id']}").json()
    unanswered = second.client.get("/api/v1/decisions", params={"answered": "no", "account": row["user_id"]})

    assert held is not None
    for each in (before, page):
        assert held["text"] in each
        assert "What the judge read" in each
        assert 'name="action"' not in each
        assert "An answer of a colleague." not in each
        assert BADGES[AnswerState.WRITTEN] not in each
        assert "Nothing was sent.</p>" not in each, "the answer of a colleague was"
    assert BADGES[AnswerState.WRITTEN] not in listed
    assert "An answer of a colleague." not in listed
    assert "An answer of a colleague." not in home
    assert found["answered"] is None
    assert [each["id"] for each in unanswered.json()["decisions"]] == [str(row["id"])]


def test_a_person_who_holds_a_decision_reviews_it_before_an_answer(desk: Desk, lead: Visitor) -> None:
    """A refused answer, or the drafts of the API, would say what another person sent."""
    row, second = desk.escalated(), desk.person(Role.REVIEWER)
    queue = hand_queue(desk.engine.url, f"first {row['id']}", {row["id"]: row["created_at"]})
    form = form_of(second, row)
    second.get("/queues")
    second.post(f"/queues/{queue}/next")
    answer(lead, row, form_of(lead, row), action="write", text="An answer of a colleague.")
    desk.engine.decide(row["user_id"], QUESTION, conversation_id=row["conversation_id"])
    refused = [
        second.post(f"{place}/{row['id']}{end}", **form, action="write", text="Mine.")
        for place, end in (("/decisions", "/answer"), ("/escalations", ""))
    ]
    drafts = second.client.get(f"/api/v1/decisions/{row['id']}/drafts").json()

    for each in refused:
        assert each.status_code == 400
        assert "Review it first, then answer." in each.text
        assert "An answer of a colleague." not in each.text
    assert (drafts["answers"], drafts["since"]) == ([], None)
