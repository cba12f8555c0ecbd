"""The example for Node as a process: signed webhooks in, replies to a small channel, events out."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest
from jsonschema import Draft202012Validator

from tests.support.channel_programs import ROOT
from tests.support.fake_channel import fake_channel
from tests.support.node_receiver import CHANNEL_SECRET, HUSHGATE_SECRET, NodeReceiver, signature
from tests.support.running import PATIENCE_S, eventually

REPLY: Final = {
    "event_id": "e1",
    "user_id": "shop",
    "conversation_id": "c1",
    "message_id": "m1",
    "text": "From nine to six.",
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeReceiver]:
    """One process for the module."""
    with fake_channel() as channel:
        made = NodeReceiver(channel=channel, journal=tmp_path_factory.mktemp("node") / "sent.ndjson")
        made.start()
        try:
            yield made
        finally:
            made.kill()


@pytest.fixture
def receiver(process: NodeReceiver) -> NodeReceiver:
    """The process with a channel that has nothing yet."""
    for seen in (process.channel.messages, process.channel.by_key):
        seen.clear()
    for asked in (process.channel.calls, process.channel.deleted, process.channel.events):
        asked.clear()
    return process


def test_a_reply_is_sent_once(receiver: NodeReceiver) -> None:
    """Repeated webhooks, also at the same time, are acknowledged and change nothing."""
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(receiver.webhook, REPLY, "reply.created") for _ in range(4)]

    assert [each.result() for each in answers] == [204] * 4
    assert receiver.channel.calls == [("/messages", "shop/e1")]
    assert list(receiver.channel.messages.values()) == [
        {"conversation": "c1", "answers": "m1", "text": "From nine to six."}
    ]


def test_a_killed_receiver_sends_nothing_twice_and_loses_nothing(receiver: NodeReceiver) -> None:
    """SIGKILL after the channel took a reply: the webhook was not acknowledged and comes again."""
    receiver.channel.hold(1)
    with ThreadPoolExecutor(1) as pool:
        broken = pool.submit(receiver.webhook, REPLY, "reply.created", event_id="e2")
        assert receiver.channel.held.wait(PATIENCE_S)
        receiver.kill()
        assert broken.result() == 0
    receiver.channel.release()
    with receiver.journal.open("a") as journal:
        journal.write('{"key": "shop/e2", "se')  # the half line of a crash
    receiver.start()

    assert [receiver.webhook(REPLY, "reply.created", event_id="e2") for _ in range(2)] == [204, 204]
    assert receiver.channel.calls == [("/messages", "shop/e2")] * 2
    assert len(receiver.channel.messages) == 1


def test_a_retraction_removes_what_was_sent_before_a_restart(receiver: NodeReceiver) -> None:
    """The journal knows the channel's id; what is gone already is no error."""
    receiver.webhook(REPLY, "reply.created", event_id="e3")
    receiver.kill()
    receiver.start()
    (sent_id,) = receiver.channel.messages
    receiver.channel.failures.clear()

    assert receiver.webhook(REPLY, "reply.retracted", event_id="e3") == 204
    receiver.channel.failures.append((404, {}))
    assert receiver.webhook(REPLY, "reply.retracted", event_id="e3") == 204
    assert receiver.channel.deleted == [sent_id]


def test_a_reply_that_was_taken_back_before_is_never_sent(receiver: NodeReceiver) -> None:
    """Webhooks of one reply may overtake each other when one of them is repeated."""
    receiver.webhook(REPLY, "reply.retracted", event_id="e4")

    assert receiver.webhook(REPLY, "reply.created", event_id="e4") == 204
    assert receiver.channel.calls == []


@pytest.mark.parametrize(("failure", "status"), [(503, 503), (429, 503), (401, 503), (400, 204)])
def test_what_the_channel_says_decides_whether_the_webhook_comes_again(
    receiver: NodeReceiver, failure: int, status: int
) -> None:
    """A passing failure is repeated by Hushgate; a refusal is noted and never repeated."""
    receiver.channel.failures.append((failure, {}))

    assert receiver.webhook(REPLY, "reply.created", event_id=f"e-{failure}") == status
    assert receiver.webhook(REPLY, "reply.created", event_id=f"e-{failure}") == 204
    assert len(receiver.channel.messages) == (1 if status == 503 else 0)


def test_a_refused_note_does_not_refuse_the_reply_of_its_event(receiver: NodeReceiver) -> None:
    """An escalation and its handoff text have the same event id."""
    receiver.channel.failures.append((400, {}))
    assert receiver.webhook(REPLY, "escalation.opened", event_id="e11", reason="r") == 204
    assert receiver.webhook(REPLY, "reply.created", event_id="e11") == 204

    assert receiver.channel.texts() == ["From nine to six."]


def test_other_types_are_acknowledged(receiver: NodeReceiver) -> None:
    """Types of later releases and those that need no act; an escalation becomes a note."""
    assert [receiver.webhook(REPLY, kind) for kind in ("decision.made", "toString")] == [204, 204]
    assert receiver.channel.calls == []

    receiver.webhook(REPLY, "escalation.opened", reason="The author asks for a person.")
    assert receiver.channel.texts() == ["A person must answer: The author asks for a person."]


def test_a_request_that_is_not_signed_now_by_hushgate_is_refused(receiver: NodeReceiver) -> None:
    """A wrong secret, an old or a future time, no header, another path, or a body that is no webhook."""
    good = {"type": "reply.created", "data": REPLY | {"event_id": "e9"}}
    statuses = [
        receiver.signed(good, secret=CHANNEL_SECRET),
        receiver.signed(good, age_s=301),
        receiver.signed(good, age_s=-301),
        receiver.post("/hushgate", json.dumps(good).encode(), {}),
        receiver.signed(good, path="/else"),
        receiver.signed(b"{"),
        receiver.signed({"type": "reply.created"}),
        receiver.signed(b" " * 1_000_001),
    ]

    assert statuses == [401, 401, 401, 401, 404, 400, 400, 413]
    assert [receiver.signed(body) for body in (b"null", b"[]", b"7")] == [204] * 3
    assert receiver.channel.calls == []


def test_the_signature_is_that_of_the_specification() -> None:
    """The example that Standard Webhooks publishes; the receiver is tested with the same function."""
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    assert signature(body, HUSHGATE_SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330) == expected


def message(number: int, sender: str) -> dict[str, str]:
    """A message of the channel."""
    return {
        "id": f"m{number}",
        "conversation": "c1",
        "author": "ann",
        "text": "When are you open?",
        "at": "2026-11-21T12:00:00Z",
        "from": sender,
    }


def test_messages_of_the_channel_become_events(receiver: NodeReceiver) -> None:
    """Valid ones of customers and people; none of bots, so that the AI never answers itself."""
    for number, sender in enumerate(("customer", "team", "bot")):
        assert receiver.signed(message(number, sender), path="/channel", secret=CHANNEL_SECRET) == 204
    schema = json.loads((ROOT / "docs" / "event.schema.json").read_text(encoding="utf-8"))
    for each in receiver.channel.events:
        Draft202012Validator(schema).validate(each)

    assert [(each["event_id"], each["type"]) for each in receiver.channel.events] == [
        ("m0", "message"),
        ("m1", "agent_message"),
    ]
    assert receiver.signed(message(4, "customer"), path="/channel") == 401


def test_a_receiver_ends_after_the_request_under_way(receiver: NodeReceiver) -> None:
    """After SIGTERM the webhook that it works on is answered; then it ends."""
    receiver.channel.hold(1)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(receiver.webhook, REPLY, "reply.created", event_id="e10")
        assert receiver.channel.held.wait(PATIENCE_S)
        receiver.process.send_signal(signal.SIGTERM)
        eventually(lambda: receiver.signed({"type": "none"}) == 0, "no new connections")
        receiver.channel.release()

        assert answer.result() == 204
    receiver.process.communicate(timeout=PATIENCE_S)
    assert receiver.process.returncode == 0
    receiver.start()
