"""Chatwoot and Telegram with Hushgate itself: signed requests in, replies, handoffs and faults out."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Iterator

import pytest
from redis import Redis

from cli.stack import Stack
from db.people.records import Role
from sandbox.server import SandboxHandle
from tests.support.channel_office import CHATWOOT, SECRET, TELEGRAM, LocalHushgate, Office, signed
from tests.support.channel_programs import channel_program
from tests.support.conversing import HOURS, QUESTION
from tests.support.reviewing import api_token, person_at, site
from tests.support.running import PATIENCE_S, Running, eventually, running
from tests.support.vendor_server import BOT_TOKEN, PERSON_TOKEN, TELEGRAM_TOKEN, vendor_server
from tests.unit.channels.recorded import payload


@pytest.fixture(scope="module")
def world(
    stack: Stack, database_url: str, sandbox_process: SandboxHandle
) -> Iterator[tuple[Running, LocalHushgate]]:
    """One engine and one site for all tests of this module."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    sandbox_process.reset()
    with (
        running(database_url, stack.redis_url, sandbox_process) as engine,
        site(database_url) as visitors,
    ):
        person, _ = person_at(visitors, database_url, Role.REVIEWER)
        yield engine, LocalHushgate(visitors, api_token(person, "read", "review", "answer"))


@pytest.fixture
def office(world: tuple[Running, LocalHushgate], monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """A new vendor."""
    monkeypatch.setattr("examples.channels.consumer.BLOCK_S", 0.02)
    engine, hushgate = world
    hushgate.is_away = False
    with vendor_server() as vendor:
        made = Office(engine=engine, hushgate=hushgate, vendor=vendor)
        yield made
        for each in made.open:
            each.server_close()
            each.redis.close()


def test_chatwoot_decides_who_answers(office: Office) -> None:
    """The AI answers, the team opens the conversation, answers and resolves it, and the AI answers again."""
    inbox = office.inbox(CHATWOOT)
    assert [inbox.chatwoot("message", content=QUESTION) for _ in range(2)] == [200, 200]
    inbox.reasons(1)
    assert "nine to six" in inbox.send_until(1)[0]
    later = time.time()

    assert inbox.chatwoot("own_message", content=office.vendor.texts()[0]) == 200
    assert inbox.chatwoot("conversation_opened", updated_at=later) == 200
    assert inbox.owner() == "people"
    assert inbox.chatwoot("message_of_the_team") == 200
    assert inbox.chatwoot("message_in_open_conversation", id=9010) == 200
    inbox.reasons(3)
    assert inbox.chatwoot("conversation_resolved", updated_at=later + 9.5) == 200
    assert inbox.chatwoot("conversation_opened", updated_at=later + 5) == 200, "overtaken by the resolution"
    assert inbox.owner() == "ai"
    assert inbox.chatwoot("message", content="And on Sunday?", id=9011) == 200
    assert inbox.reasons(4) == ["REPLIED", "AGENT_MESSAGE", "OWNED_BY_PEOPLE", "REPLIED"]


def test_a_handoff_reaches_chatwoot_and_its_echo_changes_nothing(office: Office) -> None:
    """The conversation is opened, a note says why; Chatwoot's word of it finds people there already."""
    inbox = office.inbox(CHATWOOT)
    inbox.chatwoot("message", content="I want to speak to a human")
    inbox.reasons(1)
    inbox.office.engine.runtime.nudge()
    eventually(lambda: inbox.step() and len(office.vendor.asked) == 2, "the handoff")
    handoff, note = office.vendor.asked

    assert handoff.path.endswith("/conversations/42/toggle_status")
    assert (handoff.body, note.body["private"]) == ({"status": "open"}, True)
    assert note.body["content"].startswith("A person must answer: ")
    assert {each.token for each in office.vendor.asked} == {BOT_TOKEN}
    assert (inbox.chatwoot("conversation_opened"), inbox.owner()) == (200, "people")


def test_a_request_is_repeated_by_chatwoot_until_hushgate_takes_it(office: Office) -> None:
    """Chatwoot repeats 500 but not 503; a message that people answer is not published before."""
    inbox = office.inbox(CHATWOOT)
    office.hushgate.is_away = True
    asked = ("conversation_opened", "message_in_open_conversation")
    away = [inbox.chatwoot(name) for name in asked]
    office.hushgate.is_away = False
    unknown = inbox.chatwoot("message_in_open_conversation")
    inbox.chatwoot("message", content=QUESTION, id=9020)

    assert (away, unknown) == ([500, 500], 200)
    assert inbox.reasons(1) == ["REPLIED"], "no event of a conversation that people had before Hushgate"


def test_only_signed_requests_are_taken(office: Office) -> None:
    """A wrong, missing or old signature is 401, and nothing is published."""
    chatwoot, telegram = office.inbox(CHATWOOT), office.inbox(TELEGRAM)
    body = json.dumps(payload(CHATWOOT, "message")).encode()
    update = json.dumps(payload(TELEGRAM, "message")).encode()
    before = office.engine.redis.xinfo_stream("hushgate:events")["last-generated-id"]
    refused = [
        chatwoot.receiver.take({}, body),
        chatwoot.receiver.take(signed(body, time.time() - 301), body),
        chatwoot.receiver.take(signed(body), body + b" "),
        telegram.receiver.take({}, update),
        telegram.receiver.take({"X-Telegram-Bot-Api-Secret-Token": SECRET[:-1]}, update),
    ]
    after = office.engine.redis.xinfo_stream("hushgate:events")["last-generated-id"]

    assert ([status for status, _ in refused], before) == ([401] * 5, after)
    assert not any(SECRET in str(answer) for _, answer in refused)


@pytest.mark.parametrize(("person_token", "number"), [(PERSON_TOKEN, 1), ("", 2)])
def test_a_reply_whose_outcome_is_unknown(office: Office, person_token: str, number: int) -> None:
    """With the token of a person it is looked for; a bot may not read, so without it it is sent again."""
    inbox = office.inbox(CHATWOOT)
    inbox.consumer.person_token = person_token
    inbox.chatwoot("message", content=QUESTION)
    inbox.reasons(1)
    office.vendor.breaks = 1
    inbox.send_until(number)
    for _ in range(3):
        inbox.step()

    assert len(office.vendor.texts()) == number
    assert [each.method for each in office.vendor.asked] == (
        ["POST", "GET"] if person_token else ["POST"] * 2
    )


def test_telegram_is_answered_once_and_waits_as_long_as_it_says(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    """The seconds stand in the body of the 429; the token, which the address holds, is in no log."""
    inbox = office.inbox(TELEGRAM)
    limit = "Too Many Requests: retry after 31"
    office.vendor.faults.append(
        (429, {"ok": False, "error_code": 429, "description": limit, "parameters": {"retry_after": 31}})
    )
    assert [inbox.telegram({"text": QUESTION}) for _ in range(2)] == [200, 200]
    inbox.reasons(1)
    with caplog.at_level(logging.DEBUG, logger="consumer"):
        eventually(lambda: inbox.step() and inbox.consumer.next_try, "the limit")
        (at,) = inbox.consumer.next_try.values()
        texts = inbox.send_until(1)
        inbox.consumer.token = "7001:a b"  # a typing error, which http.client quotes
        inbox.telegram({"text": "And on Sunday?", "message_id": 22})
        inbox.reasons(2)
        eventually(lambda: inbox.step() and inbox.consumer.next_try, "the refused address")

    assert 25 < at - time.monotonic() < 32
    assert ("nine to six" in texts[0], len(office.vendor.texts())) == (True, 1)
    assert (TELEGRAM_TOKEN not in caplog.text, "a b" not in caplog.text) == (True, True)
    assert "no answer: InvalidURL" in caplog.text
    assert QUESTION not in caplog.text
    assert texts[0] not in caplog.text


def test_a_group_that_became_a_supergroup_gets_its_reply_there(office: Office) -> None:
    """Ids of messages begin again there: the reply names no message, and is removed by the new chat's id."""
    inbox = office.inbox(TELEGRAM)
    asked = payload(TELEGRAM, "mention_in_group")
    asked["message"] |= {"date": int(time.time()), "text": f"@corner_shop_bot {QUESTION}"}
    office.vendor.upgraded[asked["message"]["chat"]["id"]] = -100777
    assert inbox.update(asked) == 200
    inbox.reasons(1)
    inbox.send_until(1)
    sent = office.vendor.asked[-1].body
    sent_id = f"-100777:{office.vendor.messages[-1]['id']}"
    inbox.consumer.remove("key", {"conversation_id": "telegram:-500:main"}, sent_id)

    assert (sent["chat_id"], "reply_parameters" in sent) == (-100777, False)
    assert inbox.consumer.marks.is_sent(sent_id)
    assert office.vendor.asked[-1].body["chat_id"] == -100777
    assert inbox.consumer.redis.xlen(f"{inbox.consumer.group}:refused") == 0


def test_an_edit_that_asks_no_more_is_moderated(office: Office) -> None:
    """The bot's name leaves a group's message: its new text is decided; edits of other messages are not."""
    inbox = office.inbox(TELEGRAM)
    asked = payload(TELEGRAM, "mention_in_group")["message"]
    asked |= {"date": int(time.time()), "text": f"@corner_shop_bot {QUESTION}"}
    for number, text in ((77, "Did you see the game?"), (22, "I will kill you")):
        edited = asked | {"message_id": number, "text": text, "edit_date": asked["date"] + 9}
        assert inbox.update({"update_id": number, "message": asked}) == 200
        assert inbox.reasons(1) == ["REPLIED"]
        assert inbox.update({"update_id": number + 1, "edited_message": edited}) == 200

    assert inbox.reasons(2) == ["REPLIED", "MODERATION_FLAGGED"]


def test_one_command_runs_a_channel(office: Office) -> None:
    """`python -m channels telegram` takes an update and sends the reply."""
    account = office.engine.account(documents=HOURS)
    settings = {
        "ACCOUNT": account,
        "OWN_ID": "corner_shop_bot",
        "TOKEN": TELEGRAM_TOKEN,
        "SIGNING_SECRET": SECRET,
        "REDIS_URL": office.engine.redis_url,
        "CHANNEL_URL": office.vendor.url(TELEGRAM),
    }
    sent = payload(TELEGRAM, "message")
    sent["message"] |= {"date": int(time.time()), "text": QUESTION}
    with channel_program("__main__", TELEGRAM, **settings) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[-1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
        connection.request("POST", "/", json.dumps(sent), headers)
        status = connection.getresponse().status
        connection.close()
        eventually(office.vendor.texts, "the reply")
        process.terminate()
        ended = process.wait(PATIENCE_S)

    assert (status, ended, len(office.vendor.texts())) == (200, 0, 1)
    assert office.vendor.asked[0].body["reply_parameters"]["message_id"] == 21
