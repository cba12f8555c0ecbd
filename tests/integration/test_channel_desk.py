"""Answers of the team in Slack: buttons, the form, who answered, covers and faults, with Hushgate itself."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from redis import Redis

from cli.stack import Stack
from db.people.records import Role
from examples.channels.hushgate import Away
from examples.channels.recipe import TryLater
from examples.channels.slack_desk import POLL_S, QUIET_S, Desk
from review.app import build_app
from sandbox.server import SandboxHandle
from tests.support.channel_office import SLACK, Inbox, LocalHushgate, Office
from tests.support.channel_programs import channel_program
from tests.support.conversing import HOURS, QUESTION
from tests.support.reviewing import Visitors, api_token, person_at, settings_at, site
from tests.support.running import PATIENCE_S, Running, eventually, running
from tests.support.vendor_server import BOT_TOKEN, vendor_server
from tests.support.web_server import port_of, web_server
from tests.unit.channels.recorded import payload

LEE, KIM, GUEST, STRANGER = "U0LEE", "U0KIM", "U0GUEST", "U0NEW"
"""Two reviewers, a viewer, and a person without a token."""
HELD: Final = {"reply_mode": "suggest"}
FLAGGED: Final[dict[str, Any]] = {
    "flagged_keywords": ["zorblax"],
    "escalation_actions": {"flagged_keyword:zorblax": "escalate"},
}
NUMBERS: Final = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """One engine, the review pages, and the API tokens of people by their Slack id."""

    engine: Running
    visitors: Visitors
    service: LocalHushgate
    service_id: object
    tokens: dict[str, str]
    logins: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An account in Slack with the team's place."""

    office: Office
    inbox: Inbox
    desk: Desk
    decision_id: str

    @property
    def asked(self) -> dict[str, Any]:
        """The only message that asks the team."""
        (found,) = [each for each in self.office.vendor.messages if each["channel"] == "C0TEAM"]
        return found

    @property
    def shown(self) -> str:
        """What the message shows after its last change, as JSON."""
        return json.dumps(self.office.vendor.updates[self.asked["ts"]]["blocks"])

    def press(self, user: str, name: str, *, trigger: str = "123.456.abc") -> int:
        """Press a button of the message; the status of the answer."""
        (action,) = [each for each in self.buttons() if each["action_id"] == f"hushgate_{name}"]
        sent = payload(SLACK, "button_pressed")
        sent["actions"] = [action | {"action_ts": f"1795262500.{next(NUMBERS):06}"}]
        sent |= {"trigger_id": trigger, "user": sent["user"] | {"id": user}}
        return self.send(sent)

    def submit(self, user: str, view: dict[str, Any], text: str) -> int:
        """Send the form."""
        sent = payload(SLACK, "form_sent")
        values = {"answer": {"text": {"type": "plain_text_input", "value": text}}}
        sent["view"] |= view | {"id": f"V{next(NUMBERS)}", "state": {"values": values}}
        sent["user"]["id"] = user
        return self.send(sent)

    def send(self, sent: dict[str, Any]) -> int:
        """Send an interaction as Slack does: a form with one field."""
        body = urlencode({"payload": json.dumps(sent)}).encode()
        return self.inbox.slack(body, **{"Content-Type": "application/x-www-form-urlencoded"})

    def buttons(self) -> list[dict[str, Any]]:
        """The buttons of the message."""
        found: list[dict[str, Any]] = self.asked["blocks"][-1]["elements"]
        return found

    def names(self) -> list[str]:
        """What the buttons do."""
        return [each["action_id"].removeprefix("hushgate_") for each in self.buttons()]

    def poll(self) -> None:
        """Let the desk look at once."""
        self.desk.polled_at = -QUIET_S
        self.desk.step()

    def poll_after(self, seconds: float) -> None:
        """Let the desk poll if it is due so long after the last time."""
        self.desk.polled_at = time.monotonic() - seconds
        self.desk.step()

    def work(self) -> None:
        """Let the desk do everything that was pressed."""
        self.desk.polled_at = time.monotonic()
        while self.desk.redis.xlen(self.desk.presses):
            self.desk.step()

    def answers(self) -> list[dict[str, Any]]:
        """What people answered."""
        query = "SELECT * FROM answers WHERE decision_id = %s ORDER BY created_at"
        return self.office.engine.rows(query, self.decision_id)

    def approve(self, user: str) -> None:
        """Press, and let the desk work."""
        assert self.press(user, "approve") == 200
        self.work()


@pytest.fixture(scope="module")
def team(stack: Stack, database_url: str, sandbox_process: SandboxHandle) -> Iterator[Team]:
    """One engine and one site for all tests of this module."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    sandbox_process.reset()
    moderation = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": sandbox_process.base_url}
    with (
        running(database_url, stack.redis_url, sandbox_process) as engine,
        site(database_url, **moderation) as visitors,
    ):
        service, person = person_at(visitors, database_url, Role.REVIEWER)
        roles = {LEE: Role.REVIEWER, KIM: Role.REVIEWER, GUEST: Role.VIEWER}
        people = {name: person_at(visitors, database_url, role) for name, role in roles.items()}
        yield Team(
            engine=engine,
            visitors=visitors,
            service=LocalHushgate(visitors, api_token(service, "read", "answer")),
            service_id=person.person_id,
            tokens={name: api_token(each, "answer", "review") for name, (each, _) in people.items()},
            logins={name: each.login for name, (_, each) in people.items()},
        )


@pytest.fixture
def office(team: Team, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """A new Slack."""
    for module in ("consumer", "slack_desk"):
        monkeypatch.setattr(f"examples.channels.{module}.BLOCK_S", 0.02)
    with vendor_server() as vendor:
        made = Office(engine=team.engine, hushgate=team.service, vendor=vendor)
        yield made
        for each in made.open:
            each.server_close()
            each.redis.close()


def asking(
    office: Office, team: Team, tmp_path: Path, text: str = QUESTION, *, polls: bool = True, **settings: Any
) -> Place:
    """A customer's message in Slack that waits for the team, which is asked."""
    inbox = office.inbox(SLACK, **(settings or HELD))
    people = tmp_path / "people.json"
    people.write_text(json.dumps(team.tokens))
    desk = Desk(
        inbox.consumer.redis,
        inbox.consumer.inbox,
        team.service,
        url=office.vendor.url(SLACK),
        token=BOT_TOKEN,
        people=people,
    )
    sent = payload(SLACK, "message")
    stamp = f"{time.time():.6f}"
    sent["event"] |= {"text": text, "ts": stamp, "event_ts": stamp}
    body = json.dumps(sent).encode()
    assert [inbox.slack(body), inbox.slack(body, **{"X-Slack-Retry-Num": "1"})] == [200, 200]
    inbox.reasons(1)
    row = office.engine.row("SELECT id FROM ai_decisions WHERE user_id = %s", inbox.account)
    assert row is not None
    place = Place(office=office, inbox=inbox, desk=desk, decision_id=str(row["id"]))
    if polls:
        place.poll()
    return place


def test_a_draft_is_approved_in_slack_and_sent_to_the_customer(
    office: Office, team: Team, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From the customer's message to the answer in the thread; the message says who approved it."""
    with caplog.at_level(logging.DEBUG):
        place = asking(office, team, tmp_path)
        shown = json.dumps(place.asked["blocks"])
        place.poll()
        place.approve(LEE)
        office.engine.runtime.nudge()
        eventually(lambda: place.inbox.step() and len(office.vendor.messages) == 2, "the reply")
        place.poll()
    reply = office.vendor.messages[1]

    assert (QUESTION in shown, "nine to six" in shown) == (True, True)
    assert place.names() == ["approve", "edit", "reject", "take", "open"]
    assert (reply["channel"], "nine to six" in reply["text"]) == ("C0SHOP", True)
    assert [(each["outcome"], each["person"]) for each in place.answers()] == [
        ("unchanged", team.logins[LEE])
    ]
    assert f"<@{LEE}> approved the draft." in place.shown
    assert "hushgate_approve" not in place.shown
    assert len(place.inbox.reasons(1)) == 1, "the repeated request is the same event"
    logged = "".join(each.message for each in caplog.records if each.levelno >= logging.INFO)
    assert not any(each in logged for each in (BOT_TOKEN, team.tokens[LEE], QUESTION, "nine to six"))


def test_two_who_press_at_once_give_one_answer(office: Office, team: Team, tmp_path: Path) -> None:
    """The second person gets a notice."""
    place = asking(office, team, tmp_path)
    threads = [
        threading.Thread(target=place.press, args=each) for each in ((LEE, "approve"), (KIM, "reject"))
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    place.work()

    assert len(place.answers()) == 1
    assert office.vendor.notices() == ["This message was answered."]


def test_an_answer_on_the_pages_comes_first(office: Office, team: Team, tmp_path: Path) -> None:
    """A form's text is not sent and goes back to its author; the message names who answered."""
    place = asking(office, team, tmp_path)
    place.press(LEE, "edit")
    place.work()
    view = office.vendor.asked[-1].body["view"]
    kim = LocalHushgate(team.visitors, team.tokens[KIM])
    kim.call("POST", f"decisions/{place.decision_id}/answers", {"action": "approve"})
    place.submit(LEE, view, "Until seven today.")
    place.work()

    place.submit(LEE, view, "Until eight today.")
    place.work()
    notices = office.vendor.notices()

    assert len(place.answers()) == 1
    assert [each.partition("\n\n")[0] for each in notices] == [
        "Another answer was stored first.",
        "This message was answered.",
    ]
    assert [each.partition("Your text:\n")[2] for each in notices] == [
        "Until seven today.",
        "Until eight today.",
    ]
    assert f"{team.logins[KIM]} approved the draft." in place.shown


def test_a_draft_is_edited_in_a_form(office: Office, team: Team, tmp_path: Path) -> None:
    """The form has the draft; a text that moderation stops is refused and keeps the buttons."""
    place = asking(office, team, tmp_path)
    place.press(LEE, "edit", trigger="expired")
    place.press(LEE, "edit")
    place.work()
    view = office.vendor.asked[-1].body["view"]
    element = view["blocks"][0]["element"]
    place.submit(LEE, view, "I will kill you")
    place.work()
    stopped = place.answers()
    place.submit(LEE, view, "Until seven today, on other weekdays until six.")
    place.work()

    assert "nine to six" in element["initial_value"]
    expired, refused = office.vendor.notices()
    assert expired == "Slack did not open the form in time. Press again."
    assert "Moderation stops this text" in refused
    assert (stopped, "kill you" in refused) == ([], True)
    assert [each["outcome"] for each in place.answers()] == ["edited"]
    assert f"<@{LEE}> edited the draft." in place.shown


def test_a_conversation_is_taken_and_a_message_closed(office: Office, team: Team, tmp_path: Path) -> None:
    """Taking leaves the buttons; rejecting sends nothing to the customer."""
    place = asking(office, team, tmp_path)
    place.press(KIM, "take")
    place.work()
    taken = place.shown
    row = office.engine.row("SELECT people_until FROM conversations WHERE user_id = %s", place.inbox.account)
    place.press(KIM, "reject")
    place.work()

    assert (f"<@{KIM}> took the conversation." in taken, "hushgate_approve" in taken) == (True, True)
    assert row is not None
    assert row["people_until"] is not None
    assert [(each["outcome"], each["text"]) for each in place.answers()] == [("dismissed", None)]
    assert f"<@{KIM}> closed it without an answer." in place.shown
    assert len(office.vendor.messages) == 1


def test_people_act_with_their_own_rights(office: Office, team: Team, tmp_path: Path) -> None:
    """A person without a token, and one who may only read, change nothing."""
    place = asking(office, team, tmp_path)
    for user in (STRANGER, GUEST):
        place.approve(user)
    first, second = office.vendor.notices()

    assert place.answers() == []
    assert "PEOPLE_TOKENS has no API token of yours" in first
    assert second.startswith("status 403")


@pytest.mark.parametrize("content", ["{", '{"U0LEE": 7}', '{"U0LEE": "hg_secret\\n"}', None])
def test_a_file_of_tokens_that_cannot_be_used_is_said_to_the_person(
    office: Office, team: Team, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    """The press is not lost in silence, no token is logged, and the next press counts."""
    place = asking(office, team, tmp_path)
    known = place.desk.people.read_text()
    place.desk.people.unlink() if content is None else place.desk.people.write_text(content)
    place.approve(LEE)
    place.desk.people.write_text(known)
    place.approve(LEE)

    (notice,) = office.vendor.notices()
    assert "PEOPLE_TOKENS" in notice
    assert len(place.answers()) == 1
    assert "hg_secret" not in caplog.text


@contextmanager
def covered(office: Office, team: Team) -> Iterator[None]:
    """What a rule flagged is covered for the desk's token."""
    cover = "UPDATE people SET covered = %s WHERE id = %s"
    office.engine.database.execute(cover, (["flagged_rule"], team.service_id))
    try:
        yield
    finally:
        office.engine.database.execute(cover, ([], team.service_id))


def test_a_covered_text_is_not_posted(office: Office, team: Team, tmp_path: Path) -> None:
    """Neither message nor draft, nor the rule; what cannot be read cannot be approved."""
    with covered(office, team):
        place = asking(office, team, tmp_path, "My zorblax is broken, please help", **FLAGGED)
    posted = json.dumps([each.body for each in office.vendor.asked])

    assert "Covered (flagged_rule)" in posted
    assert "zorblax" not in posted
    assert place.names() == ["reject", "take", "open"]


def test_a_text_that_is_covered_later_is_not_posted_with_the_answer(
    office: Office, team: Team, tmp_path: Path
) -> None:
    """Covers of the desk's token count, not those of the person who answered."""
    place = asking(office, team, tmp_path, "My zorblax is broken, please help", **FLAGGED)
    place.press(LEE, "edit")
    place.work()
    with covered(office, team):
        place.submit(LEE, office.vendor.asked[-1].body["view"], "Please send us the device.")
        place.work()

    assert [each["outcome"] for each in place.answers()] == ["written"]
    assert (f"<@{LEE}> wrote an answer." in place.shown, "device" in place.shown) == (True, False)


def test_a_customers_text_is_shown_as_it_is(office: Office, team: Team, tmp_path: Path) -> None:
    """No mention, link or markup of theirs: texts of customers and of the AI are plain."""
    text = "<!channel> *When* are you open on <https://evil.example|weekdays>?"
    place = asking(office, team, tmp_path, text.replace("<", "&lt;").replace(">", "&gt;"))
    sections = [each["text"] for each in place.asked["blocks"] if each["type"] == "section"]

    assert [each["type"] for each in sections if "When" in each["text"] or "nine" in each["text"]] == [
        "plain_text"
    ] * 2
    assert text in sections[1]["text"]


def test_faults_of_slack_repeat_nothing(office: Office, team: Team, tmp_path: Path) -> None:
    """A question without an answer of Slack is asked once, and soon; a press is done once."""
    place = asking(office, team, tmp_path, polls=False)
    office.vendor.faults.append((429, {"ok": False, "error": "ratelimited"}))
    with pytest.raises(TryLater, match="429"):
        place.poll()
    assert place.desk.redis.hgetall(place.desk.asked) == {}, "Slack took nothing"
    office.vendor.breaks = 1
    with pytest.raises(TryLater, match="no answer"):
        place.poll_after(POLL_S)
    office.hushgate.is_away = True
    with pytest.raises(Away):
        place.poll_after(POLL_S)
    office.hushgate.is_away = False
    place.poll_after(POLL_S)
    assert place.asked
    office.vendor.faults.append((503, {}))
    place.press(LEE, "approve")
    with pytest.raises(TryLater, match="503"):
        place.work()
    place.work()

    assert [each["outcome"] for each in place.answers()] == ["unchanged"]
    assert f"<@{LEE}> approved the draft." in place.shown
    assert office.vendor.notices() == []


def test_what_people_answered_elsewhere_is_closed_in_slack(
    office: Office, team: Team, tmp_path: Path
) -> None:
    """With their name and answer; a message that waits no longer has no buttons."""
    place = asking(office, team, tmp_path)
    kim = LocalHushgate(team.visitors, team.tokens[KIM])
    kim.call("POST", f"decisions/{place.decision_id}/answers", {"action": "write", "text": "Until seven."})
    place.poll()

    assert (f"{team.logins[KIM]} wrote an answer." in place.shown, "Until seven." in place.shown) == (
        True,
        True,
    )
    assert place.desk.redis.hgetall(place.desk.asked) == {}


def test_the_desk_looks_when_something_came(office: Office, team: Team, tmp_path: Path) -> None:
    """Each look is a line of the access log: without traffic there is none for minutes."""
    place = asking(office, team, tmp_path)
    looks = "SELECT count(*) AS n FROM access_log WHERE action = 'list'"
    waiting = "SELECT 1 FROM outbox WHERE delivered_at IS NULL AND cancelled_at IS NULL"
    office.engine.runtime.nudge()
    eventually(lambda: not office.engine.rows(waiting), "answers of earlier tests to be delivered")
    eventually(lambda: not office.engine.redis.xlen("hushgate:events"), "the streams to be quiet")

    def looked() -> int:
        before = office.engine.row(looks)
        place.poll_after(POLL_S)
        after = office.engine.row(looks)
        assert before is not None
        assert after is not None
        return int(after["n"] - before["n"])

    looked()
    quiet = [looked() for _ in range(3)]
    office.engine.decide(place.inbox.account, "And on Sunday?", conversation_id="telegram:7:main")
    eventually(lambda: not office.engine.redis.xlen("hushgate:events"), "the entry to be removed")

    assert (quiet, looked(), looked()) == ([0, 0, 0], 1, 0)
    assert len(office.vendor.messages) == 2, "what waits in another channel of the account is asked too"


@contextmanager
def served(url: str, **environment: str) -> Iterator[str]:
    """The address of a review server that answers over HTTP."""
    with web_server(
        build_app(settings_at(url, **environment)), lifespan="on", log_level="critical"
    ) as server:
        yield f"http://127.0.0.1:{port_of(server)}"


def test_one_command_asks_the_team_and_answers(office: Office, team: Team, tmp_path: Path) -> None:
    """`python -m channels slack`: programs, review server and Slack talk over HTTP."""
    account = office.engine.account(documents=HOURS, **HELD)
    people = tmp_path / "people.json"
    people.write_text(json.dumps(team.tokens))
    row = office.engine.decide(account, QUESTION, conversation_id="slack:C0SHOP:1795262400.000100")
    moderation = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": office.engine.sandbox.base_url}
    with served(office.engine.url, **moderation) as url:
        settings = {
            "ACCOUNT": account,
            "REDIS_URL": office.engine.redis_url,
            "CHANNEL_URL": office.vendor.url(SLACK),
            "ESCALATION_PLACE": "C0TEAM",
            "HUSHGATE_URL": url,
            "HUSHGATE_TOKEN": team.service.token,
            "PEOPLE_TOKENS": str(people),
        }
        with channel_program("__main__", SLACK, **settings) as process:
            eventually(lambda: office.vendor.messages, "the question to the team")
            value = office.vendor.messages[0]["blocks"][-1]["elements"][0]["value"]
            press = {"user": LEE, "decision": str(row["id"]), "draft": value.partition("/")[2]}
            press |= {"action": "approve", "at": "1795262500.000100", "trigger": "1.2.a"}
            office.engine.redis.xadd(f"slack:{account}:presses", {"data": json.dumps(press)})
            eventually(lambda: office.vendor.updates, "the press")
            office.engine.runtime.nudge()
            eventually(lambda: len(office.vendor.messages) == 2, "the reply")
            process.terminate()
            assert process.wait(PATIENCE_S) == 0

    assert (office.vendor.messages[1]["channel"], value.partition("/")[0]) == ("C0SHOP", str(row["id"]))
