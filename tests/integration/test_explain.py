"""``hushgate explain``: each state of an event, on real servers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from redis import Redis

from cli.exit_codes import ExitCode
from db import dead_letters, outbox
from db.audit.decision_context import get_decision
from db.commits.record import record_check
from db.commits.stored_event import look_up_event
from db.connection import Connection
from db.dead_letters import DeadLetter
from db.people.records import Role
from db.pool import create_pool
from db.reviews import submission
from db.reviews.rulings import Remedy, Reviewer, Ruling, RulingReason
from db.reviews.submission import StoredReview, Submission
from db.schema import logins
from db.schema.logins import Service
from tasks.lanes import lookup as entry_lookup
from tasks.lanes.stream import Lanes
from tasks.limits.upstream_reports import NO_WORKER
from tasks.publishing.publish import append
from tasks.shards.clients import connect
from tests.support.audited import blocked, ignored, record, replied, rows
from tests.support.pools import in_pool
from tests.support.relays import none_sent
from tests.support.reviewing import add_person, stored
from tests.support.samples import body_of, event, passage
from tests.support.terminal import Shell
from worker.checks.given import check_event
from worker.checks.verdict import stored_check, verdict_of
from worker.errors import PayloadFault, PayloadRejected
from worker.model import (
    Action,
    Assessment,
    Attempt,
    AttemptOutcome,
    Decision,
    DecisionKind,
    HeldDraft,
    HeldKind,
    Quote,
    ReadSentence,
    Stage,
    StageOutcome,
    StageRecord,
    Tier,
    Verdict,
)
from worker.payload.check_schema import CheckRequest
from worker.reasons import Reason

STREAM = "hushgate:events"
AWAY = {"DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1/0"}


def publish(redis_url: str, *event_ids: str, **changes: Any) -> Sequence[str]:
    """Publish events of one conversation; their entry ids."""
    known = {"conversation_id": "c", "message_id": "m"} | changes
    with Redis.from_url(redis_url) as redis:
        return append(redis, [json.dumps(body_of(each, **known)).encode() for each in event_ids])


def as_worker(
    redis_url: str, act: Callable[[Lanes], Awaitable[object]] = lambda lanes: lanes.read(10)
) -> None:
    """Do what a worker with a heartbeat of a minute does."""

    async def run() -> None:
        async with connect(redis_url) as redis:
            lanes = Lanes(redis, stream=STREAM, worker="host:1", keep_bytes=4096)
            await lanes.prepare()
            await lanes.heartbeat(60_000)
            await act(lanes)

    asyncio.run(run())


def explained(shell: Shell, *words: str, code: ExitCode = ExitCode.OK, **env: str | None) -> dict[str, Any]:
    """The only report of a call that ends with this code."""
    ended = shell.run("explain", *words, env=env)
    assert (ended.code, len(ended.rows)) == (code, 1), ended.err
    return ended.rows[0]


def rule(url: str, decided: Decision, remedy: Remedy) -> StoredReview:
    """Overturn a decision as a reviewer."""
    person = add_person(url, Role.REVIEWER)
    given = Submission(
        decision_id=decided.decision_id,
        reviewer=Reviewer(person_id=person.person_id, login=person.login),
        ruling=Ruling.OVERTURN,
        reason=RulingReason.SHOULD_ANSWER,
        corrected=DecisionKind.IGNORE if decided.reply else None,
        remedy=remedy,
    )

    async def change(connection: Connection) -> StoredReview:
        return await submission.submit_review(connection, given, datetime.now(UTC))

    return stored(url, change)


def store_check(url: str, decided: Decision) -> None:
    """Store the decision of a check as a gateway does."""
    assert in_pool(url, lambda source: record_check(source, decided, "hash"))


def attempt(stage: Stage, number: int, outcome: AttemptOutcome, waited_s: float) -> Attempt:
    """One call of 100 ms, with the pause after it."""
    return Attempt(number=number, stage=stage, outcome=outcome, duration_ms=100.0, waited_s=waited_s)


def bury(url: str, entry_id: str, payload: bytes, event_id: str | None = None) -> None:
    """Store a dead letter, with the key of its event when it has one."""
    why = PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got="ten starts")
    letter = DeadLetter(
        entry_id=entry_id,
        payload=payload,
        size_bytes=len(payload),
        why=why,
        at=datetime.now(UTC),
        event=None if event_id is None else event(event_id=event_id, entry_id=entry_id),
    )
    in_pool(url, lambda source: dead_letters.bury(source, letter))


def erase(url: str, decided: Decision) -> None:
    """Delete a decision as the database's owner does on request."""
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL hushgate.erasing = on")
        connection.execute("DELETE FROM ai_decisions WHERE id = %s", (decided.decision_id,))


def test_an_event_that_no_worker_has_read_is_unread(shell: Shell, redis_url: str) -> None:
    """It has an entry and no lane."""
    (entry_id,) = publish(redis_url, "unread-1")
    found = explained(shell, "unread-1")
    (entry,) = found["entries"]

    assert (found["state"], found["user_id"]) == ("unread", "acme")
    assert (entry["entry_id"], entry["lane"], entry["starts"]) == (entry_id, None, 0)


def test_the_head_of_a_lane_runs_and_the_others_wait(shell: Shell, redis_url: str) -> None:
    """With place in the lane, owner, heartbeat and how often the entry was handed out."""
    publish(redis_url, "first", "second")
    as_worker(redis_url)
    first, second = explained(shell, "first"), explained(shell, "second")
    head, next_ = first["entries"][0], second["entries"][0]

    assert (first["state"], second["state"]) == ("running", "waiting")
    assert [(each["position"], each["lane_entries"], each["starts"]) for each in (head, next_)] == [
        (1, 2, 1),
        (2, 2, 0),
    ]
    assert head["lane"] == next_["lane"]
    assert {each["worker"] for each in (head, next_)} == {"host:1"}
    assert 50 < head["heartbeat_left_s"] <= 60
    assert 0 <= head["read_s"] < 30


def test_the_entry_of_a_worker_without_a_heartbeat_is_stalled(shell: Shell, redis_url: str) -> None:
    """Until another worker takes the lane over."""
    publish(redis_url, "stalled-1")
    as_worker(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.delete(f"{{{STREAM}}}:hb:host:1")
    found = explained(shell, "stalled-1")

    assert (found["state"], found["entries"][0]["heartbeat_left_s"]) == ("stalled", None)


def test_a_lane_that_was_given_back_waits(shell: Shell, redis_url: str) -> None:
    """Its head has no owner."""
    publish(redis_url, "given-back")
    as_worker(redis_url, _read_and_leave)
    found = explained(shell, "given-back")

    assert (found["state"], found["entries"][0]["worker"]) == ("waiting", None)


async def _read_and_leave(lanes: Lanes) -> None:
    await lanes.read(10)
    await lanes.leave()


def test_looking_changes_nothing(shell: Shell, redis_url: str) -> None:
    """Every key of Redis has the same value before and after."""
    publish(redis_url, "same", "same-2")
    as_worker(redis_url)
    with Redis.from_url(redis_url) as redis:
        before = {key: redis.dump(key) for key in redis.keys("*")}
        explained(shell, "same")

        assert {key: redis.dump(key) for key in redis.keys("*")} == before


def test_an_entry_behind_many_others_is_found(
    shell: Shell, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream is read in pages."""
    monkeypatch.setattr(entry_lookup, "PAGE", 3)
    publish(redis_url, *(f"page-{number}" for number in range(10)))

    assert [explained(shell, f"page-{number}")["state"] for number in (0, 2, 3, 9)] == ["unread"] * 4


@pytest.mark.parametrize(
    ("payload", "event_id"),
    [
        (b'{"event_id": "esc\\u0061ped", "user_id": "acme"}', "escaped"),
        (
            b'{"specversion": "1.0", "id": "7", "source": "shop", "type": "t", "data": {"user_id": "acme",'
            b' "scope": "chat", "conversation_id": "c", "message_id": "m", "author_id": "a", "text": "hi",'
            b' "created_at": "2026-11-21T10:00:00Z"}}',
            "shop#7",
        ),
    ],
)
def test_an_event_is_found_however_its_id_is_written(
    shell: Shell, redis_url: str, payload: bytes, event_id: str
) -> None:
    """Escaped in JSON, or made of the ids of a CloudEvents envelope."""
    with Redis.from_url(redis_url) as redis:
        append(redis, [payload])

    assert explained(shell, event_id)["user_id"] == "acme"


def test_an_event_without_an_id_is_found_by_its_entry(shell: Shell, redis_url: str) -> None:
    """The entry id is its event id."""
    (entry_id,) = publish(redis_url, "ignored", event_id=None)

    found = explained(shell, entry_id)

    assert (found["state"], found["problem"]) == ("unread", NO_WORKER)


def test_a_payload_that_will_be_a_dead_letter_says_why(shell: Shell, redis_url: str) -> None:
    """In the words of the parser."""
    publish(redis_url, "mail-1", scope="mail")
    found = explained(shell, "mail-1")

    assert found["entries"][0]["problem"].startswith("scope: expected")


def test_a_decided_event_names_its_decision(shell: Shell, database_url: str) -> None:
    """With reason, time and the version of the settings."""
    decided = ignored()
    record(database_url, decided)
    found = explained(shell, decided.event.event_id)

    assert (found["state"], found["entries"]) == ("decided", [])
    assert found["decision"]["id"] == str(decided.decision_id)
    assert (found["decision"]["reason_code"], found["decision"]["settings_version"]) == ("LOW_CONFIDENCE", 1)
    assert found["exchange"]["state"] == "in_history"


def test_failed_calls_of_a_hold_and_of_retries_are_counted(shell: Shell, database_url: str) -> None:
    """Failed calls are counted for each stage, with those that a long hold did not store."""
    hold = [attempt(Stage.MODERATION, number, AttemptOutcome.TIMEOUT, 30.0) for number in range(1, 50)]
    decided = ignored(
        attempts=(
            *hold,
            attempt(Stage.MODERATION, 80, AttemptOutcome.SERVER_ERROR, 30.0),
            attempt(Stage.GENERATION, 1, AttemptOutcome.RATE_LIMITED, 2.0),
            attempt(Stage.GENERATION, 2, AttemptOutcome.COMPLETED, 0.0),
            attempt(Stage.JUDGE, 1, AttemptOutcome.TIMEOUT, 0.0),
        ),
        stages=(
            StageRecord(stage=Stage.MODERATION, outcome=StageOutcome.PASSED, duration_ms=2_400_000.0),
            StageRecord(stage=Stage.GENERATION, outcome=StageOutcome.PASSED, duration_ms=3_500.0),
        ),
    )
    record(database_url, decided)
    found = explained(shell, decided.event.event_id)
    shown = shell.on_terminal("explain", decided.event.event_id, columns=200).out
    pages = replace(shell, environment={**shell.environment, "HUSHGATE_REVIEW_URL": "https://review.example"})
    linked = pages.on_terminal("explain", decided.event.event_id, columns=200).out

    assert found["decision"]["failed_calls"] == [
        {"stage": "moderation", "failed": 80, "last": "server_error", "duration_s": 2400.0},
        {"stage": "generation", "failed": 1, "last": "rate_limited", "duration_s": 3.5},
        {"stage": "judge", "failed": 1, "last": "timeout", "duration_s": 0.1},
    ]
    assert "moderation: 80 failed attempts, the last server_error, 2400 s in total" in shown
    assert f"https://review.example/decisions/{decided.decision_id}" in linked


def test_further_entries_of_an_event_are_counted(shell: Shell, database_url: str, redis_url: str) -> None:
    """One that is still in the stream is shown too."""
    decided = ignored(event_id="twice")
    record(database_url, decided)
    again = event(event_id="twice", entry_id="0-1")
    in_pool(database_url, lambda source: look_up_event(source, again, again.received_at))
    publish(redis_url, "twice")
    found = explained(shell, "twice")
    shown = shell.on_terminal("explain", "twice", columns=200).out

    assert (found["state"], found["duplicates"], len(found["entries"])) == ("decided", 1, 1)
    assert "a further entry: a duplicate" in shown


def test_each_account_with_the_event_id_has_a_report(shell: Shell, database_url: str) -> None:
    """--account asks for one of them."""
    record(database_url, *(ignored(event_id="shared", user_id=user_id) for user_id in ("b", "a", "c")))
    ended = shell.run("explain", "shared")

    assert [row["user_id"] for row in ended.rows] == ["a", "b", "c"]
    assert explained(shell, "shared", "--account", "b")["user_id"] == "b"


@pytest.mark.parametrize(
    ("lets_pass", "line"),
    [
        (None, "hold"),
        ("shadow", "allow in place of hold: shadow mode"),
        ("fail_open", "allow in place of hold: the check could not be made, its token lets texts pass"),
    ],
)
def test_a_check_is_found_by_its_id_beside_the_event_with_that_id(
    shell: Shell, database_url: str, lets_pass: str | None, line: str
) -> None:
    """Its verdict is said; an event of the account keeps a report of its own."""
    name, user_id = f"turn {lets_pass}", f"checks-{lets_pass}"
    asked = CheckRequest(user_id=user_id, message="Are you open?", draft="Yes.")
    made = replace(ignored(), event=check_event(asked, check_id=name, at=datetime.now(UTC)))
    made = replace(made, reason_code=Reason.TOO_LATE, reason="the check took too long")
    options = {each: each == lets_pass for each in ("shadow", "fail_open")}
    store_check(database_url, stored_check(made, verdict_of(made, **options)))
    alone = explained(shell, name)
    shown = shell.on_terminal("explain", name, "--account", user_id, columns=160).out
    record(database_url, replied(event_id=name, user_id=user_id))
    both = shell.run("explain", name, "--account", user_id).rows

    assert (alone["user_id"], alone["state"], alone["duplicates"]) == (user_id, "decided", None)
    assert alone["decision"]["checked"] == {
        "verdict": "allow" if lets_pass else "hold",
        "would": "hold" if lets_pass else None,
        "failed_open": lets_pass == "fail_open",
    }
    assert re.search(rf"verdict +{line} *\n", shown)
    assert [(each["decision"]["reason_code"], each["reply"] is None) for each in both] == [
        ("REPLIED", False),
        ("TOO_LATE", True),
    ]


def test_an_event_that_was_buried_is_a_dead_letter(shell: Shell, database_url: str) -> None:
    """Found by its key, by the event id in a payload that is no event, or by the id of its entry."""
    bury(database_url, "500-0", b'{"event_id": "poisoned", "user_id": "acme"}', event_id="poisoned")
    bury(database_url, "500-1", b'{"event_id": "no-event", "user_id": "acme"}')
    bury(database_url, "500-2", b'{"event_id": "other", "text": "no-event", "user_id": "acme"}')
    bury(database_url, "500-3", b"no JSON")
    found = [explained(shell, each) for each in ("poisoned", "no-event", "500-1", "500-3")]

    assert {each["state"] for each in found} == {"dead_letter"}
    assert [[letter["entry_id"] for letter in each["dead_letters"]] for each in found] == [
        ["500-0"],
        ["500-1"],
        ["500-1"],
        ["500-3"],
    ]
    assert [each["user_id"] for each in found] == ["acme", "acme", "acme", None]


def test_a_dead_letter_that_was_published_again_waits(
    shell: Shell, database_url: str, redis_url: str
) -> None:
    """Its new entry counts."""
    bury(database_url, "501-0", b'{"event_id": "again", "user_id": "acme"}', event_id="again")
    publish(redis_url, "again")

    assert explained(shell, "again")["state"] == "unread"


def test_a_reply_waits_and_is_delivered(shell: Shell, database_url: str) -> None:
    """As its outbox row says."""
    decided = replied()
    record(database_url, decided)
    before = explained(shell, decided.event.event_id)
    rows(database_url, "UPDATE outbox SET delivered_at = now() WHERE event_id = %s", decided.event.event_id)
    after = explained(shell, decided.event.event_id)

    assert (before["reply"]["state"], after["reply"]["state"]) == ("waiting", "delivered")


def test_a_reply_that_was_sent_for_a_lost_decision_names_it(shell: Shell, database_url: str) -> None:
    """The author may have read another text."""
    decided, lost = replied(), uuid4()
    record(database_url, decided)
    sent = "UPDATE outbox SET delivered_at = now(), sent_as = %s WHERE event_id = %s"
    rows(database_url, sent, lost, decided.event.event_id)
    shown = shell.on_terminal("explain", decided.event.event_id, columns=200).out

    assert f" as decision {lost}, which the database lost" in shown
    assert explained(shell, decided.event.event_id)["reply"]["sent_as"] == str(lost)


def test_a_reply_that_is_too_late_is_held_back(shell: Shell, database_url: str) -> None:
    """The relay cancels it."""
    now = datetime.now(UTC)
    decided = replied(send_before=now - timedelta(seconds=5))
    record(database_url, decided)

    async def relay() -> None:
        async with (
            create_pool(database_url, size=1, application="test") as source,
            outbox.waiting_replies(source, 10, now, none_sent),
        ):
            pass

    asyncio.run(relay())

    assert explained(shell, decided.event.event_id)["reply"]["state"] == "held_back"


def test_a_reply_that_a_reviewer_removed_in_time_is_cancelled(shell: Shell, database_url: str) -> None:
    """Its exchange has left the history."""
    decided = replied(send_before=datetime.now(UTC) + timedelta(days=1))
    record(database_url, decided)
    rule(database_url, decided, Remedy.REMOVE)
    found = explained(shell, decided.event.event_id)

    assert (found["reply"]["state"], found["exchange"]["state"]) == ("cancelled", "removed")
    assert found["retraction"] is None


def test_a_delivered_reply_that_a_reviewer_removed_is_retracted(shell: Shell, database_url: str) -> None:
    """The request waits for the end of the undo window."""
    decided = replied()
    record(database_url, decided)
    rows(database_url, "UPDATE outbox SET delivered_at = now() WHERE event_id = %s", decided.event.event_id)
    rule(database_url, decided, Remedy.REMOVE)
    found = explained(shell, decided.event.event_id)

    assert (found["reply"]["state"], found["retraction"]["delivered_at"]) == ("delivered", None)
    assert found["retraction"]["not_before"] > found["retraction"]["created_at"]


def test_the_answer_of_a_person_is_listed(shell: Shell, database_url: str) -> None:
    """Who wrote it, and whether it was delivered, while that is stored."""
    decided = ignored()
    record(database_url, decided)
    rows(
        database_url,
        "WITH answer AS (INSERT INTO answers (id, decision_id, decision_at, user_id, conversation_id,"
        " message_id, scope, outcome, text, person, released, rules_version, created_at)"
        " VALUES (%s, %s, now(), %s, 'c', 'm', 'chat', 'written', 'hello', 'kim', false, 1, now())"
        " RETURNING *)"
        " INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,"
        " created_at, delivered_at, origin) SELECT user_id, id::text, id, conversation_id, message_id, scope,"
        " text, created_at, now(), 'person' FROM answer",
        uuid4(),
        decided.decision_id,
        decided.event.user_id,
    )

    (found,) = explained(shell, decided.event.event_id)["answers"]
    rows(database_url, "DELETE FROM outbox WHERE user_id = %s", decided.event.user_id)
    (erased,) = explained(shell, decided.event.event_id)["answers"]

    assert (found["outcome"], found["person"], found["cancelled_at"]) == ("written", "kim", None)
    assert (found["delivered_at"] is not None, found["in_outbox"], erased["in_outbox"]) == (True, True, False)


def test_a_sealed_exchange_can_be_restored(shell: Shell, database_url: str) -> None:
    """By a reviewer who overturns the block."""
    decided = blocked()
    record(database_url, decided)
    before = explained(shell, decided.event.event_id)
    rule(database_url, decided, Remedy.RESTORE)
    after = explained(shell, decided.event.event_id)

    assert (before["exchange"]["state"], after["exchange"]["state"]) == ("sealed", "restored")
    assert before["exchange"]["sealed_until"] is not None
    assert before["decision"]["matched_rule"] == "flagged_keyword:spam"


def test_an_erased_decision_is_named_as_such(shell: Shell, database_url: str) -> None:
    """Its key remains."""
    decided = ignored()
    record(database_url, decided)
    erase(database_url, decided)
    shown = shell.on_terminal("explain", decided.event.event_id, columns=120)
    found = explained(shell, decided.event.event_id)

    assert (found["state"], found["decision"]) == ("not_stored", None)
    assert "erased" in shown.out


def test_a_decision_without_its_key_is_found(shell: Shell, database_url: str) -> None:
    """Retention deletes keys before decisions."""
    decided = ignored()
    record(database_url, decided)
    rows(database_url, "DELETE FROM event_keys WHERE event_id = %s", decided.event.event_id)
    rows(
        database_url,
        "INSERT INTO purged (table_name, rows) VALUES ('event_keys', 1)"
        " ON CONFLICT (table_name) DO UPDATE SET rows = purged.rows + 1",
    )

    assert explained(shell, decided.event.event_id)["state"] == "decided"


def test_an_unknown_event_ends_with_1(shell: Shell) -> None:
    """Both servers were read."""
    assert explained(shell, "no-such-event", code=ExitCode.NEGATIVE)["state"] == "not_found"


def test_a_server_that_is_away_leaves_its_part_unknown(
    shell: Shell, database_url: str, redis_url: str
) -> None:
    """The other server still answers; without a finding the exit code says which kind of failure it was."""
    decided = ignored()
    record(database_url, decided)
    publish(redis_url, "in-the-stream")
    audit = explained(shell, decided.event.event_id, REDIS_URL=AWAY["REDIS_URL"])
    stream = explained(shell, "in-the-stream", DATABASE_URL=AWAY["DATABASE_URL"])
    nothing = explained(shell, "no-such-event", code=ExitCode.UNAVAILABLE, **AWAY)

    assert (audit["state"], list(audit["unknown"])) == ("decided", ["stream"])
    assert (stream["state"], list(stream["unknown"])) == ("unread", ["audit"])
    assert (nothing["state"], list(nothing["unknown"])) == ("unknown", ["stream", "audit"])
    assert "hunter2" not in json.dumps([audit, stream, nothing])


def test_a_part_that_the_login_may_not_read_is_unknown(shell: Shell, database_url: str) -> None:
    """The workers' login reads keys and replies, and neither decisions nor quarantine."""
    decided = replied()
    record(database_url, decided)
    worker = next(each for each in logins.ensure(database_url, {}) if each.service is Service.WORKER)
    url = logins.url_of(database_url, worker.name, worker.password or "")
    found = explained(shell, decided.event.event_id, DATABASE_URL=url)

    assert (found["state"], found["reply"]["state"]) == ("decided", "waiting")
    assert {"decision", "duplicates"} <= set(found["unknown"])
    assert "permission denied" in found["unknown"]["decision"]


DRAFT = "We open at nine. We open on Sunday too. [1]"


def judged(**changes: Any) -> Decision:
    """A decision on a draft of which the passages do not bear out the second sentence."""
    sentences = (
        ReadSentence(
            start=0,
            end=16,
            verdict=Verdict.SUPPORTED,
            support=0.9,
            quotes=(Quote(passage=1, start=None, end=None),),
        ),
        ReadSentence(start=17, end=43, verdict=Verdict.NOT_MENTIONED, support=0.0),
    )
    look = Assessment(
        policy="calibrated@3", confidence=0.0, tier=Tier.LOW, action=Action.ESCALATE, sentences=sentences
    )
    until = datetime.now(UTC) + timedelta(days=1)
    known = {
        "text": "When are you open?",
        "held_until": until,
        "assessment": look,
        "passages": (passage(1, title="Hours"),),
    }
    return ignored(**known | changes)


def test_the_message_the_held_draft_and_the_sentences_that_decided_are_shown(
    shell: Shell, database_url: str
) -> None:
    """Of a draft that was not sent those that the passages do not bear out; its reading is logged."""
    held = HeldDraft(kind=HeldKind.DRAFT, text=DRAFT[:43], draft=DRAFT)
    decided = judged(held=(held,))
    record(database_url, decided)
    found = explained(shell, decided.event.event_id)["texts"]
    shown = shell.on_terminal("explain", decided.event.event_id, columns=200).out
    with psycopg.connect(database_url) as owner:
        logged = owner.execute(
            "SELECT action, user_id, detail FROM access_log WHERE decision_id = %s", (decided.decision_id,)
        ).fetchall()

    assert logged == [("reveal", decided.event.user_id, {"event_id": decided.event.event_id})] * 2
    assert (found["message"], found["reply"], found["held"]) == ("When are you open?", None, DRAFT[:43])
    assert [(each["text"], each["verdict"]) for each in found["decided_by"]] == [
        ("We open on Sunday too.", "not_mentioned")
    ]
    assert "“We open on Sunday too.”: the passages do not say it, support 0.00" in shown


def test_a_fallback_text_hides_no_sentence_that_decided(shell: Shell, database_url: str) -> None:
    """The sentences are those of the held draft, not of the text that was sent in its place."""
    held = HeldDraft(kind=HeldKind.DRAFT, text=DRAFT[:43], draft=DRAFT)
    decided = replace(judged(held=(held,)), reply="A person will answer you.")
    record(database_url, decided)
    found = explained(shell, decided.event.event_id)["texts"]

    assert (found["reply"], found["held"]) == ("A person will answer you.", DRAFT[:43])
    assert [each["text"] for each in found["decided_by"]] == ["We open on Sunday too."]


def test_of_a_reply_the_supported_sentences_decided(shell: Shell, database_url: str) -> None:
    """With the words that the judge quotes, and the title of their passage."""
    sentence = ReadSentence(
        start=0,
        end=16,
        verdict=Verdict.SUPPORTED,
        support=0.9,
        quotes=(Quote(passage=1, start=12, end=28),),
    )
    made = judged()
    assert made.assessment is not None
    look = replace(made.assessment, sentences=(sentence,))
    decided = replied(
        text="When?", reply=DRAFT[:16], draft=DRAFT[:16], assessment=look, passages=made.passages
    )
    record(database_url, decided)
    found = explained(shell, decided.event.event_id)["texts"]

    assert (found["reply"], found["held"]) == (DRAFT[:16], None)
    shown = shell.on_terminal("explain", decided.event.event_id, columns=200).out

    (read,) = found["decided_by"]
    assert (read["text"], read["passages"]) == (DRAFT[:16], ["Hours"])
    assert read["quotes"] == ["from nine to six"]
    assert "quotes “from nine to six” of Hours" in shown
    assert re.search(r"passages +Hours ", shown)


def test_the_disclosure_stands_before_the_reply_that_had_it(shell: Shell, database_url: str) -> None:
    """The first delivered reply of a conversation; the next one is sent without it."""
    said = "You are writing with an AI assistant."
    first = replied(reply="At nine.", disclosure=said)
    record(database_url, first)
    about = first.event
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE outbox SET delivered_at = now() WHERE decision_id = %s", (first.decision_id,))
    second = replied(reply="At ten.", disclosure=said)
    again = replace(second.event, user_id=about.user_id, conversation_id=about.conversation_id)
    record(database_url, replace(second, event=again))
    ids = (first.decision_id, second.decision_id)
    found = [explained(shell, each)["texts"]["disclosure"] for each in (about.event_id, again.event_id)]
    shown = shell.on_terminal("explain", about.event_id, columns=200).out
    whole = [stored(database_url, partial(get_decision, decision_id=each)) for each in ids]

    assert found == [said, None]
    assert [each and each["reply_disclosure"] for each in whole] == found
    assert shown.index(said) < shown.index("At nine.")


def test_a_draft_that_the_login_may_not_read_is_unknown(shell: Shell, database_url: str) -> None:
    """The other texts are shown."""
    decided = judged(held=(HeldDraft(kind=HeldKind.DRAFT, text=DRAFT),))
    record(database_url, decided)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE reads_decisions LOGIN")
        owner.execute("GRANT SELECT ON ai_decisions, event_keys, outbox TO reads_decisions")
    url = logins.url_of(database_url, "reads_decisions", "")
    found = explained(shell, decided.event.event_id, DATABASE_URL=url)

    assert (found["texts"]["message"], found["texts"]["held"]) == ("When are you open?", None)
    assert "permission denied" in found["unknown"]["held draft"]


@pytest.mark.parametrize(
    ("left_s", "owner", "said"), [(3600, "people", "people own it since"), (-1, "ai", "the AI owns it")]
)
def test_the_owner_of_the_conversation_is_said(
    shell: Shell, database_url: str, left_s: int, owner: str, said: str
) -> None:
    """Which is often why there was no reply."""
    made = replied()
    record(database_url, made)
    about, now = made.event, datetime.now(UTC)
    before = explained(shell, about.event_id)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO conversations (user_id, conversation_id, people_until, changed_at, changed_by,"
            " cause, changes) VALUES (%s, %s, %s, %s, 'ann', 'command', 1)",
            (about.user_id, about.conversation_id, now + timedelta(seconds=left_s), now),
        )
    after = explained(shell, about.event_id)

    assert before["conversation"] is None
    assert (after["conversation"]["owner"], after["conversation"]["changed_by"]) == (owner, "ann")
    assert said in shell.on_terminal("explain", about.event_id, columns=200).out
