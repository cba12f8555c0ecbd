"""A worker whose machine shows a wrong time decides as every other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from cli.doctor.check import DoctorCheck
from cli.doctor.models import upstream_checks
from db.review_store import Store
from db.reviews.exchanges import load_subject
from db.reviews.remedies import apply_remedy
from db.reviews.rulings import Remedy, Ruling
from tasks.alerts.situation import load_situation
from tasks.alerts.watch import found_alerts
from tests.support.conversing import HOURS, QUESTION
from tests.support.running import Running, eventually, settings_of
from worker.adapters import system_clock
from worker.reasons import Reason

SetClock = Callable[[timedelta], None]
HOUR = timedelta(hours=1)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the clock of this machine, as the engine reads it."""
    wrong = timedelta()

    class Machine(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + wrong

    def set_to(by: timedelta) -> None:
        nonlocal wrong
        wrong = by

    monkeypatch.setattr(system_clock, "datetime", Machine)
    return set_to


def last_prompt(engine: Running) -> str:
    """Everything that the newest prompt says."""
    (request,) = engine.sandbox.requests(last=1, route="chat")
    return "\n".join(each["content"] for each in cast("dict[str, Any]", request["body"])["messages"])


def test_history_is_in_the_order_of_the_conversation(engine: Running, set_clock: SetClock) -> None:
    """Of two messages, the first was decided while the clock was 5 s fast."""
    user_id = engine.account(documents=HOURS)
    set_clock(timedelta(seconds=5))
    engine.decide(user_id, f"First: {QUESTION}", conversation_id="talk")
    set_clock(timedelta())
    engine.decide(user_id, f"Second: {QUESTION}", conversation_id="talk")
    engine.decide(user_id, QUESTION, conversation_id="talk")
    said = last_prompt(engine)

    assert 0 < said.index("First:") < said.index("Second:")


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_a_reply_is_sent_within_its_time(engine: Running, set_clock: SetClock, by: timedelta) -> None:
    """The account wants no reply after ten minutes; the clock is wrong by an hour."""
    user_id = engine.account(documents=HOURS, reply_max_age_s=600)
    set_clock(by)
    decided = engine.decide(user_id, QUESTION)
    ended = """
        SELECT delivered_at, cancel_reason FROM outbox
        WHERE user_id = %s AND (delivered_at IS NOT NULL OR cancelled_at IS NOT NULL)
    """

    assert decided["reason_code"] == Reason.REPLIED
    assert eventually(lambda: engine.row(ended, user_id), "the end of the reply")["cancel_reason"] is None


def test_doctor_and_an_alert_name_a_worker_whose_clock_is_wrong(engine: Running, set_clock: SetClock) -> None:
    """By how much, and in which direction."""
    engine.decide(engine.account(documents=HOURS), QUESTION)
    settings = settings_of(engine.url, engine.redis_url, engine.sandbox)

    def line() -> DoctorCheck | None:
        return next((each for each in upstream_checks(settings) if each.check == "worker clocks"), None)

    right = eventually(line, "the report of the worker")
    set_clock(timedelta(seconds=-5))
    wrong = eventually(lambda: (found := line()) and found.state == "warn" and found, "the wrong clock")
    alerts = found_alerts(asyncio.run(load_situation(settings, engine.url, workers=1)))

    assert right.state == "ok"
    assert "5.0 s behind the clock of Postgres" in wrong.found
    assert "5.0 s behind that of Postgres" in alerts["HushgateClockWrong"][0]


def test_an_edit_and_a_restored_exchange_keep_their_places(engine: Running) -> None:
    """The first of two messages is edited; the flagged one between them is restored by a reviewer."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["casino"])
    engine.decide(user_id, f"First: {QUESTION}", conversation_id="talk", message_id="first")
    flagged = engine.decide(user_id, "Middle: casino", conversation_id="talk")
    engine.decide(user_id, f"Last: {QUESTION}", conversation_id="talk")
    engine.decide(user_id, "First, edited", conversation_id="talk", message_id="first", type="message_edited")
    asyncio.run(restore(engine.url, flagged["id"]))
    lines = engine.rows("SELECT text FROM messages WHERE user_id = %s AND role = 'user' ORDER BY id", user_id)

    assert [line["text"].partition(":")[0] for line in lines] == ["First, edited", "Middle", "Last"]


async def restore(url: str, decision_id: UUID) -> None:
    """Restore a flagged message, as a reviewer does."""
    async with Store(url) as store, store.writing() as connection:
        subject = await load_subject(connection, decision_id)
        assert subject is not None
        now = datetime.now(UTC)
        await apply_remedy(
            connection, subject, Remedy.RESTORE, ruling=Ruling.OVERTURN, review_id=uuid4(), now=now
        )
