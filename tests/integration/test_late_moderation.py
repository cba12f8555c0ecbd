"""Texts that passed without moderation are moderated later, each exchange once; on real servers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from db.late_moderation import settling
from db.outbox import LOCK_AND_WAIT, LOCK_CONVERSATION
from db.people.records import Role
from db.pool import create_pool
from tests.integration.test_decision_page import reading
from tests.support.conversing import HOURS, QUESTION, SUNDAY, TALK
from tests.support.running import Running, eventually
from worker.late_moderation import LateCheck, LateResult
from worker.model import Account

WORKER = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from db.late_moderation.settling import claim_unmoderated, settle
from db.pool import create_pool
from worker.late_moderation import LateCheck, LateResult
from worker.model import Account

async def work(url, user_id):
    account, now = Account(user_id=user_id, version=1, retract_flagged=True), datetime.now(UTC)
    harm = LateCheck(result=LateResult.FLAGGED, matched_rule="openai_moderation:hate")
    async with create_pool(url, size=1, application="killed", role="hushgate_worker") as pool:
        found = await claim_unmoderated(pool, now + timedelta(days=9), 100)
        (mine,) = [each for each in found if each.user_id == user_id]
        await settle(pool, mine, harm, account, now)

asyncio.run(work(*sys.argv[1:]))
"""
HARM = LateCheck(result=LateResult.FLAGGED, matched_rule="openai_moderation:hate")


@pytest.fixture
def outage(engine: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """An engine whose moderation is away until the rules are dropped, with short pauses between attempts."""
    monkeypatch.setattr("worker.moderation.FIRST_PAUSE_S", 0.01)
    engine.sandbox.add_rule("moderations", "500")
    yield engine
    engine.sandbox.reset()


def passed(engine: Running, text: str = QUESTION, **settings: Any) -> tuple[str, dict[str, Any]]:
    """An account that continues without moderation, and a decision with a delivered reply."""
    user_id = engine.account(documents=HOURS, moderation_failure="allow", **settings)
    made = engine.decide(user_id, text, conversation_id=TALK, message_id="m1")
    assert (made["decision"], made["degraded"]) == ("respond", True)
    sent = "SELECT 1 AS sent FROM outbox WHERE user_id = %s AND delivered_at IS NOT NULL"
    eventually(lambda: engine.row(sent, user_id), "the reply")
    return user_id, made


def waiting(engine: Running, user_id: str) -> list[dict[str, Any]]:
    """The account's exchanges that passed without moderation."""
    query = "SELECT roles, result, matched_rule FROM unmoderated_texts WHERE user_id = %s ORDER BY decided_at"
    return engine.rows(query, user_id)


def check(engine: Running) -> None:
    """What a worker does every five seconds."""
    engine.runtime.call(engine.runtime.parts.late_moderation.run_once())


def checked(engine: Running, user_id: str) -> dict[str, Any]:
    """The account's first exchange once it is checked, without the pause after a failure."""

    def look() -> dict[str, Any] | None:
        engine.database.execute("UPDATE unmoderated_texts SET claimed_until = NULL WHERE checked_at IS NULL")
        check(engine)
        return next((each for each in waiting(engine, user_id) if each["result"]), None)

    found: dict[str, Any] = eventually(look, "a check")
    return found


def count(engine: Running, table: str, user_id: str) -> int:
    """Rows of an account."""
    row = engine.row(f"SELECT count(*) AS rows FROM {table} WHERE user_id = %s", user_id)
    assert row is not None
    return int(row["rows"])


def test_a_text_that_passed_is_checked_when_moderation_answers_again(outage: Running) -> None:
    """Clear texts change nothing."""
    user_id, _ = passed(outage)
    before = waiting(outage, user_id)
    outage.sandbox.drop_rules()

    assert before == [{"roles": ["user", "assistant"], "result": None, "matched_rule": None}]
    assert checked(outage, user_id)["result"] == "clear"
    assert (count(outage, "messages", user_id), count(outage, "quarantine", user_id)) == (2, 0)


@pytest.mark.parametrize("retract", [True, False])
def test_a_late_hit_seals_the_exchange_and_retracts_where_the_account_wants(
    outage: Running, retract: bool
) -> None:
    """One review, one retraction, one line of the access log."""
    user_id, made = passed(outage, retract_flagged=retract)
    outage.sandbox.drop_rules()
    outage.sandbox.add_rule("moderations", "flagged", value="hate")
    found = checked(outage, user_id)
    retracted = outage.rows("SELECT decision_id FROM retractions WHERE user_id = %s", user_id)
    objections = outage.rows("SELECT decision_id, objection FROM objections WHERE user_id = %s", user_id)
    logged = "SELECT decision_id FROM access_log WHERE user_id = %s AND action = 'late_moderation'"

    assert (found["result"], found["matched_rule"]) == ("flagged", "openai_moderation:hate")
    assert (count(outage, "messages", user_id), count(outage, "quarantine", user_id)) == (0, 2)
    assert retracted == ([{"decision_id": made["id"]}] if retract else [])
    assert objections == [{"decision_id": made["id"], "objection": "late_moderation"}]
    assert outage.rows(logged, user_id) == [{"decision_id": made["id"]}]


def test_a_late_hit_retracts_a_reply_that_was_cancelled_after_it_was_sent(outage: Running) -> None:
    """Its relay has not recorded that: the reply has the retraction's id, with which the relay goes on."""
    user_id, _ = passed(outage, retract_flagged=True)
    outage.sandbox.drop_rules()
    outage.sandbox.add_rule("moderations", "flagged", value="hate")
    with psycopg.connect(outage.url) as relay:
        relay.execute(LOCK_AND_WAIT)
        outage.database.execute(
            "UPDATE outbox SET delivered_at = NULL, cancelled_at = now(), cancel_reason = 'taken_over'"
            " WHERE user_id = %s",
            (user_id,),
        )
        checked(outage, user_id)
        query = "SELECT cancel_reason, retraction_id IS NULL AS stays FROM outbox WHERE user_id = %s"
        found = outage.row(query, user_id)

    assert found == {"cancel_reason": "taken_over", "stays": False}


def test_texts_that_were_flagged_late_are_covered(outage: Running) -> None:
    """For people who cover the category, on the page of the decision and in the list."""
    user_id, made = passed(outage)
    with reading(outage.url, Role.REVIEWER, covered=("hate",), account=user_id) as session:
        before = session.get(f"/decisions/{made['id']}").text
        outage.sandbox.drop_rules()
        outage.sandbox.add_rule("moderations", "flagged", value="hate")
        checked(outage, user_id)
        page, found = session.get(f"/decisions/{made['id']}").text, session.get("/decisions").text

    assert QUESTION in before
    assert "Covered: hate" in page
    assert QUESTION not in page + found


def test_erased_texts_are_counted_as_gone(outage: Running) -> None:
    """A message that its author deleted cannot be checked any more."""
    user_id, _ = passed(outage)
    outage.decide(user_id, "", type="message_deleted", conversation_id=TALK, message_id="m1")
    outage.sandbox.drop_rules()

    assert checked(outage, user_id)["result"] == "gone"


def test_while_moderation_is_away_an_exchange_keeps_waiting(outage: Running) -> None:
    """The new text of an edit waits as well."""
    user_id, _ = passed(outage)
    outage.decide(user_id, SUNDAY, type="message_edited", conversation_id=TALK, message_id="m1")
    check(outage)

    assert [(each["roles"], each["result"]) for each in waiting(outage, user_id)] == [
        (["user", "assistant"], None),
        (["user"], None),
    ]


def test_an_account_that_cannot_be_checked_holds_up_no_other(
    outage: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug at one exchange, and a spent budget: the other account is checked in the same run."""
    monkeypatch.setattr("tasks.late_moderation.BATCH", 100)
    other, _ = passed(outage)
    broken, _ = passed(outage)
    poor, _ = passed(outage, budget_day_usd=0.01)
    load = settling.load_texts

    async def texts(pool: Any, exchange: Any) -> Any:
        if exchange.user_id == broken:
            raise ValueError("a bug")
        return await load(pool, exchange)

    async def budget(_: Any, account: Account) -> object:
        return object() if account.user_id == poor else None

    monkeypatch.setattr(settling, "load_texts", texts)
    monkeypatch.setattr("tasks.limits.spending.Spending.budget", budget)
    outage.sandbox.drop_rules()

    assert checked(outage, other)["result"] == "clear"
    assert [waiting(outage, each)[0]["result"] for each in (broken, poor)] == [None, None]


def test_events_that_wait_for_their_account_hold_up_no_late_check(outage: Running) -> None:
    """The account of the exchange decides one event at a time, and another event of it waits for its turn."""
    user_id, _ = passed(outage, concurrent_events=1)
    outage.sandbox.drop_rules()
    for _ in range(2):
        outage.publish(user_id, f"{SUNDAY} [[sandbox:chat=delay=2]]")
    holds = outage.runtime.parts.holds
    eventually(lambda: holds.events, "an event that waits")
    found = checked(outage, user_id)

    assert (found["result"], holds.events) == ("clear", 1)


def test_an_exchange_is_settled_once_and_claims_of_killed_workers_end(outage: Running) -> None:
    """Two workers that checked the same exchange: the second changes nothing."""
    user_id, _ = passed(outage, retract_flagged=True)
    now = outage.runtime.now()
    account = Account(user_id=user_id, version=1, retract_flagged=True)

    async def race() -> tuple[list[int], list[bool]]:
        async with create_pool(outage.url, size=2, application="test", role="hushgate_worker") as pool:
            far = now + timedelta(days=1)
            claims = [
                await settling.claim_unmoderated(pool, at, 100) for at in (far, far, far + settling.CLAIM_FOR)
            ]
            (one,) = [each for each in claims[0] if each.user_id == user_id]
            done = await asyncio.gather(*(settling.settle(pool, one, HARM, account, now) for _ in range(2)))
            return [sum(e.user_id == user_id for e in each) for each in claims], sorted(done)

    claimed, settled = asyncio.run(race())

    assert (claimed, settled) == ([1, 0, 1], [False, True])
    assert (count(outage, "quarantine", user_id), count(outage, "retractions", user_id)) == (2, 1)


def test_a_worker_that_is_killed_while_it_settles_leaves_the_exchange_to_another(outage: Running) -> None:
    """SIGKILL inside the transaction: nothing of it stays, and the next check settles once."""
    user_id, _ = passed(outage, retract_flagged=True)
    held = {"user_id": user_id, "conversation_id": TALK}
    waits = "SELECT pid FROM pg_stat_activity WHERE application_name = 'killed' AND wait_event = 'advisory'"
    with psycopg.connect(outage.url) as lock:
        lock.execute(LOCK_CONVERSATION, held)
        worker = subprocess.Popen([sys.executable, "-c", WORKER, outage.url, user_id])
        try:
            eventually(lambda: outage.row(waits), "the worker in its transaction")
        finally:
            worker.kill()
            worker.wait()
    left = waiting(outage, user_id)[0]["result"], count(outage, "quarantine", user_id)
    outage.sandbox.drop_rules()
    outage.sandbox.add_rule("moderations", "flagged", value="hate")
    found = checked(outage, user_id)

    assert left == (None, 0)
    assert found["result"] == "flagged"
    assert (count(outage, "quarantine", user_id), count(outage, "retractions", user_id)) == (2, 1)


def test_moderated_exchanges_do_not_wait(engine: Running) -> None:
    """A missing result of one of several moderators counts as well, see ``unmoderated_roles``."""
    user_id = engine.account(documents=HOURS, moderation_failure="allow")
    engine.decide(user_id, QUESTION, conversation_id=TALK)

    assert waiting(engine, user_id) == []
