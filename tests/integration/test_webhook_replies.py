"""Webhooks of replies and conversations: the same voice as the streams, and nothing after a takeover."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest
from jsonschema import Draft202012Validator
from redis.asyncio import Redis

from db.commits.record import record_decision
from db.history.conversation_owners import (
    ConversationIds,
    release_conversation,
    take_conversation,
)
from db.outbox import LOCK_CONVERSATION
from db.pool import WORKER_ROLE, Pool, checkout, create_pool
from db.webhooks import deliveries
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tasks.sending.retractions import RETRACTION_ROWS
from tasks.shards.clients import connect
from tasks.webhooks.bodies import webhook_schema
from tasks.webhooks.poller import WebhookPoller
from tests.support.decided import HOUR, new_event, reply_to, takeover
from tests.support.samples import assessment
from tests.support.webhooks import (
    LOGGED,
    Clock,
    Receiver,
    add_endpoint,
    hang,
    new_account,
    receiving,
    send_due,
)
from worker.adapters.webhook_sender import WebhookSender, look_up
from worker.model import Decision, DecisionKind, Escalation, EventType, TraceContext
from worker.reasons import Reason
from worker.webhooks.types import WebhookType

RETRACT = """
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT decision_id, gen_random_uuid(), user_id, event_id, conversation_id, message_id, scope, %s, %s
    FROM outbox WHERE decision_id = %s
"""


class Setting:
    """An account with an endpoint, and what happens in it; the clock is the test's."""

    def __init__(self, source: Pool, people: Pool, redis: Redis, receiver: Receiver, url: str) -> None:
        self.source, self.people, self.receiver, self.clock, self.url = source, people, receiver, Clock(), url
        clock = self.clock
        self.account = new_account()
        self.endpoint = UUID(int=0)
        self._relay = Relay(REPLY_ROWS, source, redis, stream="test:replies", now=clock.now)
        self._retractor = Relay(RETRACTION_ROWS, source, redis, stream="test:retractions", now=clock.now)
        self._redis = redis

    async def subscribe(self, *types: str) -> UUID:
        """A further endpoint of the account."""
        return await add_endpoint(self.people, self.account, self.receiver.url, *types)

    def decision(self, **changes: Any) -> Decision:
        """An approved reply in a conversation of its own."""
        now = self.clock.now()
        made = reply_to(
            new_event(at=now, user_id=self.account),
            now,
            draft="From nine to six [1].",
            models={"completion": "gpt-test"},
            assessment=assessment(),
        )
        return replace(made, **changes)

    async def deliver(self, **changes: Any) -> Decision:
        """A reply that was put on the reply stream."""
        made = self.decision(**changes)
        await record_decision(self.source, made)
        await self._relay.deliver_batch()
        return made

    async def change(self, made: Decision, kind: EventType, reason: Reason, **changes: Any) -> None:
        """The author deletes or edits the message of a decision."""
        silent = self.decision(
            kind=DecisionKind.IGNORE, reason_code=reason, reply=None, draft=None, remember=False, **changes
        )
        changed = replace(
            silent.event,
            type=kind,
            conversation_id=made.event.conversation_id,
            message_id=made.event.message_id,
        )
        await record_decision(self.source, replace(silent, event=changed))

    def ids(self, made: Decision) -> ConversationIds:
        """The conversation of a decision."""
        return ConversationIds(user_id=self.account, conversation_id=made.event.conversation_id)

    async def take(self, made: Decision) -> None:
        """People take the conversation for an hour."""
        now = self.clock.now()
        await take_conversation(self.source, takeover(made.event, people_until=now + HOUR), now)

    def retract(self, made: Decision) -> None:
        """A reviewer takes the reply back; the undo window is a minute."""
        now = self.clock.now()
        with psycopg.connect(self.url, autocommit=True) as owner:
            owner.execute(RETRACT, (now, now + timedelta(minutes=1), made.decision_id))

    async def send_retractions(self) -> None:
        """The undo window is over."""
        self.clock.pass_by(61)
        await self._retractor.deliver_batch()

    @asynccontextmanager
    async def poller(self, **options: Any) -> AsyncIterator[WebhookPoller]:
        """A poller whose every clock is the test's; options are those of the sender."""
        now = self.clock.now

        def seconds() -> float:
            return now().timestamp()

        async with WebhookSender(loopback=True, now=now, seconds=seconds, **options) as sender:
            yield WebhookPoller(self.source, sender, now=now, draw=lambda: 0.0, seconds=seconds)

    async def send(self, limit_s: float = 5.0) -> list[str]:
        """Everything that is due now is sent; the types that the receiver has by now."""
        async with self.poller(limit_s=limit_s) as poller:
            await send_due(poller)
        return [each.json["type"] for each in self.receiver.requests]

    async def rename_endpoint(self) -> None:
        """The URL has a name, so that an attempt looks it up."""
        with psycopg.connect(self.url, autocommit=True) as owner:
            owner.execute("UPDATE webhook_endpoints SET url = replace(url, '127.0.0.1', 'localhost')")

    async def states(self) -> list[tuple[str, str, str | None]]:
        """Type, state and cancel reason of the endpoint's deliveries, oldest first."""
        found = await deliveries.list_deliveries(self.source, self.endpoint, limit=99)
        return [(each.type, each.state, each.cancel_reason) for each in reversed(found)]


@pytest.fixture
async def setting(database_url: str, redis_url: str) -> AsyncIterator[Setting]:
    """An account whose endpoint has replies and retractions."""
    async with (
        create_pool(database_url, size=4, application="test", role=WORKER_ROLE) as source,
        create_pool(database_url, size=1, application="test", role="hushgate_reviewer") as people,
        connect(redis_url) as redis,
        receiving() as receiver,
    ):
        made = Setting(source, people, redis, receiver, database_url)
        made.endpoint = await made.subscribe("reply.created", "reply.retracted")
        yield made


async def test_the_body_is_that_of_the_stream(setting: Setting) -> None:
    """The field `data` of the reply's entry, unchanged, in an envelope that fits the schema."""
    await setting.deliver()
    await setting.send()
    ((_, fields),) = cast(
        "list[tuple[bytes, dict[bytes, bytes]]]", await setting._redis.xrange("test:replies")
    )
    (request,) = setting.receiver.requests

    Draft202012Validator(webhook_schema()).validate(request.json)
    assert request.json["data"] == json.loads(fields[b"data"])


async def test_webhooks_carry_the_trace_of_their_decision(setting: Setting) -> None:
    """As W3C headers and in the body, of every type that a decision causes; none without a trace."""
    context = TraceContext(trace_id="4b" * 16, span_id="7c" * 8, flags=1, state="v=1")
    types = (WebhookType.DECISION_MADE, WebhookType.ESCALATION_OPENED)
    await setting.subscribe(*types)
    await setting.deliver(trace=context)
    escalated = {"kind": DecisionKind.ESCALATE, "reason_code": Reason.MODEL_ESCALATED, "reply": None}
    until = setting.clock.now() + timedelta(hours=1)
    await setting.deliver(trace=context, **escalated, escalation=Escalation(), people_until=until)
    await setting.send()
    traced = list(setting.receiver.requests)
    await setting.deliver()
    await setting.send()
    plain = setting.receiver.requests[len(traced) :]
    bodies = [each.json["data"] for each in setting.receiver.requests]
    wanted = {"traceparent": f"00-{'4b' * 16}-{'7c' * 8}-01", "tracestate": "v=1"}

    assert {each.json["type"] for each in traced} == {*types, WebhookType.REPLY_CREATED}
    assert [{name: each.headers[name] for name in wanted} for each in traced] == [wanted] * 4
    assert [{name: each[name] for name in wanted} for each in bodies[:4]] == [wanted] * 4
    assert len(plain) == 2
    assert not any(name in each.headers for each in plain for name in wanted)
    assert [each["traceparent"] for each in bodies[4:]] == [None, None]
    for each in setting.receiver.requests:
        Draft202012Validator(webhook_schema()).validate(each.json)


async def test_a_reply_that_people_forestalled_is_not_sent(setting: Setting) -> None:
    """They took the conversation after the stream had the reply; also when they released it again."""
    first, second = await setting.deliver(), await setting.deliver()
    await setting.take(first)
    await setting.take(second)
    setting.clock.pass_by(1)
    await release_conversation(
        setting.source, setting.ids(second), released_by="ann", now=setting.clock.now()
    )

    assert await setting.send() == []
    assert await setting.states() == [("reply.created", "cancelled", "taken_over")] * 2


async def test_no_attempt_begins_while_people_take_the_conversation(setting: Setting) -> None:
    """A takeover that is being stored blocks the attempt; after it the reply is cancelled."""
    made = await setting.deliver()
    ids = {"user_id": setting.account, "conversation_id": made.event.conversation_id}
    async with checkout(setting.source) as connection, connection.transaction():
        await connection.execute(LOCK_CONVERSATION, ids)
        blocked = await setting.send()
    await setting.take(made)

    assert blocked == await setting.send() == []
    assert await setting.states() == [("reply.created", "cancelled", "taken_over")]


async def test_a_reply_that_may_have_arrived_is_not_sent_again_after_a_takeover(setting: Setting) -> None:
    """The receiver did not answer: the row says that it may have the reply."""
    made = await setting.deliver()
    setting.receiver.says = hang
    await setting.send(limit_s=0.2)
    await setting.take(made)
    setting.receiver.says = None
    setting.clock.pass_by(600)
    await setting.send()
    (found,) = await deliveries.list_deliveries(setting.source, setting.endpoint, limit=9)

    assert len(setting.receiver.requests) == 1
    assert (found.state, found.cancel_reason, found.may_have_arrived) == ("cancelled", "taken_over", True)


async def test_a_poller_that_was_stopped_sends_nothing_after_a_takeover(setting: Setting) -> None:
    """Stopped between claim and attempt: the claim goes back, as if it had not been made."""
    made = await setting.deliver()
    async with setting.poller() as poller:
        assert await poller.look() == 1
        setting.clock.pass_by(3)
        await setting.take(made)
        await send_due(poller)
    (found,) = await deliveries.list_deliveries(setting.source, setting.endpoint, limit=9)

    assert setting.receiver.requests == []
    assert (found.state, found.cancel_reason) == ("cancelled", "taken_over")
    assert (found.attempts, found.may_have_arrived) == (0, False)


async def test_a_claim_that_went_back_is_sent_at_once(setting: Setting) -> None:
    """When people did not take the conversation."""
    await setting.deliver()
    async with setting.poller() as poller:
        await poller.look()
        setting.clock.pass_by(300)
        await send_due(poller)
    (found,) = await deliveries.list_deliveries(setting.source, setting.endpoint, limit=9)

    assert len(setting.receiver.requests) == 1
    assert (found.state, found.attempts, found.may_have_arrived) == ("succeeded", 1, False)


async def test_a_poller_that_was_stopped_while_it_connected_sends_nothing(setting: Setting) -> None:
    """The limit of the attempt is over when the connection stands."""

    def slow(host: str, port: int) -> list[tuple[Any, ...]]:
        setting.clock.pass_by(21)
        return look_up(host, port)

    await setting.deliver()
    await setting.rename_endpoint()
    async with setting.poller(lookup=slow, limit_s=20) as poller:
        await poller.look()
        await asyncio.wait(poller._attempts.running)
    (found,) = await deliveries.list_deliveries(setting.source, setting.endpoint, limit=9)

    assert setting.receiver.requests == []
    assert (found.state, found.error) == ("waiting", "timeout")


async def test_a_retracted_reply_is_not_sent_and_nor_is_its_retraction(setting: Setting) -> None:
    """While the review can be undone, the reply waits; then both are cancelled."""
    made = await setting.deliver()
    setting.retract(made)
    waiting = await setting.send(), await setting.states()
    await setting.send_retractions()

    assert waiting == ([], [("reply.created", "waiting", None)])
    assert await setting.send() == []
    assert await setting.states() == [
        ("reply.created", "cancelled", "retracted"),
        ("reply.retracted", "cancelled", "reply_not_sent"),
    ]


@pytest.mark.parametrize("says", [None, hang])
async def test_a_retraction_follows_its_reply(setting: Setting, says: Any) -> None:
    """The receiver that has the reply, or may have it as an attempt had no answer, gets its retraction."""
    made = await setting.deliver()
    setting.receiver.says = says
    await setting.send(limit_s=0.2 if says else 5.0)
    setting.receiver.says = None
    setting.retract(made)
    await setting.send_retractions()
    await setting.send()
    reply, retraction = (each.json for each in setting.receiver.requests)
    Draft202012Validator(webhook_schema()).validate(retraction)

    assert [reply["type"], retraction["type"]] == ["reply.created", "reply.retracted"]
    assert reply["data"]["decision_id"] == retraction["data"]["decision_id"]


async def test_a_reply_to_a_deleted_message_is_not_sent(setting: Setting) -> None:
    """Also when the account retracts no replies."""
    made = await setting.deliver()
    await setting.change(made, EventType.MESSAGE_DELETED, Reason.MESSAGE_DELETED)

    assert await setting.send() == []
    assert await setting.states() == [("reply.created", "cancelled", "message_deleted")]


async def test_a_reply_to_a_message_whose_edit_was_flagged_is_not_sent(setting: Setting) -> None:
    """Not by a later attempt either."""
    made = await setting.deliver()
    setting.receiver.status = 500
    first = await setting.send()
    await setting.change(made, EventType.MESSAGE_EDITED, Reason.FLAGGED_RULE, quarantine=True)
    setting.receiver.status = 200
    setting.clock.pass_by(600)

    assert len(first) == len(await setting.send()) == 1
    assert await setting.states() == [("reply.created", "cancelled", "message_flagged")]


async def test_the_opening_of_a_deleted_messages_escalation_is_not_sent(setting: Setting) -> None:
    """It contains the text; its closing contains none and is sent."""
    types = (WebhookType.ESCALATION_OPENED, WebhookType.ESCALATION_CLOSED)
    await setting.subscribe(*types)
    handed = setting.decision(
        kind=DecisionKind.ESCALATE,
        reply=None,
        draft=None,
        reason_code=Reason.MODEL_ESCALATED,
        people_until=setting.clock.now() + timedelta(hours=1),
        escalation=Escalation(),
    )
    await record_decision(setting.source, handed)
    setting.receiver.status = 500
    first = await setting.send()
    setting.clock.pass_by(60)
    await setting.change(handed, EventType.MESSAGE_DELETED, Reason.MESSAGE_DELETED)
    setting.receiver.status = 200
    setting.clock.pass_by(600)
    await setting.send()
    (closed,) = (each.json["data"] for each in setting.receiver.requests[1:])

    assert first == ["escalation.opened"]
    assert (closed["cause"], closed["decision_id"]) == ("message_deleted", str(handed.decision_id))
    assert handed.event.text not in json.dumps(closed)


async def test_a_reply_is_not_sent_too_late(setting: Setting) -> None:
    """`send_before` holds for every attempt."""
    await setting.deliver(send_before=setting.clock.now() + timedelta(minutes=2))
    setting.receiver.status = 500
    first = await setting.send()
    setting.clock.pass_by(121)

    assert len(first) == len(await setting.send()) == 1
    assert await setting.states() == [("reply.created", "cancelled", "too_late")]


async def test_changes_are_sent_where_subscribed(setting: Setting) -> None:
    """Each once, with bodies that fit the schema: a handoff, its text to the author, the owner's changes."""
    types = [each for each in WebhookType if not each.startswith("reply")]
    await setting.subscribe(*types)
    handed = setting.decision(
        kind=DecisionKind.ESCALATE,
        reply=None,
        draft=None,
        reason_code=Reason.MODEL_ESCALATED,
        people_until=setting.clock.now() + timedelta(hours=1),
        escalation=Escalation(handoff_text="A colleague will answer here."),
    )
    await record_decision(setting.source, handed)
    await record_decision(setting.source, handed)
    await setting._relay.deliver_batch()
    await setting.take(handed)  # people own it already
    opened = sorted(await setting.send())
    for _ in range(2):
        setting.clock.pass_by(1)
        now, ids = setting.clock.now(), setting.ids(handed)
        await release_conversation(setting.source, ids, released_by="ann", now=now)
    setting.clock.pass_by(1)
    await setting.take(handed)
    sent = sorted(await setting.send())
    schema = Draft202012Validator(webhook_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    for each in setting.receiver.requests:
        schema.validate(each.json)
    owners = [each.json["data"] for each in setting.receiver.requests if "owner" in each.json["data"]]

    assert opened == ["conversation.taken", "decision.made", "escalation.opened", "reply.created"]
    assert sent == sorted([*opened, "conversation.released", "conversation.taken", "escalation.closed"])
    assert [(each["owner"], each["cause"], each["changed_by"]) for each in owners] == [
        ("people", "escalation", ""),
        ("ai", "release", "ann"),
        ("people", "command", "ann"),
    ]


async def test_a_relay_that_is_repeated_stores_one_event(setting: Setting) -> None:
    """The stream's mark and the event's key are the same: a reply has one event."""
    made = setting.decision()
    await record_decision(setting.source, made)
    await asyncio.gather(*(setting._relay.deliver_batch() for _ in range(4)))
    await setting._relay.send_all()

    assert await setting.send() == ["reply.created"]


async def test_a_replay_of_what_must_not_be_sent_is_refused(setting: Setting) -> None:
    """The delivery stays a success, also while a retraction may be undone; others are sent again."""
    taken, retracted, free = [await setting.deliver() for _ in range(3)]
    await setting.send()
    await setting.take(taken)
    setting.retract(retracted)
    before = await deliveries.list_deliveries(setting.source, setting.endpoint, limit=9)
    numbers = {each.conversation_id: each.id for each in before}
    refused = [
        await deliveries.replay_delivery(
            setting.people, numbers[each.event.conversation_id], setting.clock.now(), logged=LOGGED
        )
        for each in (taken, retracted, free)
    ]
    await setting.send()

    assert refused == ["taken_over", "retracted", None]
    assert len(setting.receiver.requests) == 4
    assert await setting.states() == [("reply.created", "succeeded", None)] * 3
