"""Shadows on a running engine: what they find, and that nothing of them reaches an event."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from compliance.erasure.records import ErasureKind
from db.pool import WORKER_ROLE, Pool, fetch_rows
from db.review_store import REVIEWER_ROLE
from sandbox.server import SandboxHandle
from tests.support import erasing
from tests.support.running import Running, eventually, settings_of
from tests.support.terminal import Shell
from tests.support.trials import actor, call, candidate, trial_now
from trials.jobs import shadow_run
from trials.jobs.batch import BatchFound, TrialBatch, decide_batch
from trials.jobs.child import ShadowProcess
from trials.jobs.shadow_run import ShadowLimits, ShadowRunner
from trials.jobs.shadow_watch import run_shadows
from trials.pure.trial import Trial
from trials.store import shadows
from trials.store.candidates import TrialRefused, withdraw_candidate
from trials.store.differences import TrialDifference
from trials.store.progress import TrialPosition, TrialProgress, spent_today, store_progress
from trials.store.recordings import load_decisions
from worker.account_settings import AccountRejected
from worker.cancellation import cancel_all
from worker.errors import StorageUnavailable
from worker.recordings.stored import decoded, encoded
from worker.settings import Settings

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
AT_ONCE = ShadowLimits(settled=timedelta(0))
STOPS = {"flagged_keywords": ["weekdays"]}


def started(url: str, user_id: str, changes: dict[str, Any], usd_a_day: float = 0.0) -> Trial:
    """A running shadow of a new candidate."""
    tried = candidate(url, user_id, changes).candidate_id
    return call(url, lambda source: shadows.start_shadow(source, tried, actor(), usd_a_day=usd_a_day))


def look(
    url: str,
    *,
    limits: ShadowLimits = AT_ONCE,
    settings: Settings | None = None,
    loaded: bool = False,
    then: timedelta = timedelta(0),
) -> None:
    """Rounds of the runner, until none has a decision left, with the rights of the review pages."""

    async def is_loaded() -> bool:
        return loaded

    async def run(source: Pool) -> None:
        runner = ShadowRunner(
            source=source, url=url, role=REVIEWER_ROLE, now=lambda: datetime.now(UTC) + then, child=CHILD,
            limits=limits, settings=settings, loaded=is_loaded,
        )  # fmt: skip
        while await runner.round():
            pass

    call(url, run)


def without_timing(row: dict[str, Any]) -> dict[str, Any]:
    """What an author and the audit see of a decision."""
    return {name: row[name] for name in ("decision", "reason_code", "reason", "confidence", "matched_rule")}


def decide_with_faults(work: TrialBatch) -> BatchFound:
    """Decide; candidates with a mark hang, end the process or raise, as a fault in a library would."""
    marks = work.changes.get("flagged_phrases", ())
    while "hangs" in marks:
        time.sleep(0.01)
    if "ends" in marks:
        os._exit(139)
    found = decide_batch(work)
    failed = ((work.ids[0], "ValueError while deciding"),) if "raises" in marks else ()
    return replace(found, failed=found.failed + failed)


CHILD = ShadowProcess(decide_with_faults)
"""Shared by the tests, as a start imports the engine."""


@pytest.fixture(scope="module", autouse=True)
def _child_ends() -> Iterator[None]:
    yield
    CHILD.close()


def test_a_shadow_stores_what_would_end_otherwise_and_nothing_else(engine: Running) -> None:
    """A stopped reply is stored, the others are counted; no reply, no message and no decision is added."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["sunday"])
    early = engine.decide(user_id, QUESTION)
    shadow = started(engine.url, user_id, {"flagged_keywords": ["weekdays"]})
    assert shadow.started_by == actor().made_by
    rows = [
        engine.decide(user_id, text) for text in (QUESTION, "Are you closed on Sunday?", "I will kill you")
    ]
    counted = "SELECT (SELECT count(*) FROM outbox) o, (SELECT count(*) FROM messages) m,"
    counted += " (SELECT count(*) FROM ai_decisions) d, (SELECT count(*) FROM outgoing_events) e"
    before = engine.row(counted)
    look(engine.url)
    found = trial_now(engine.url, shadow)
    results = engine.rows("SELECT * FROM shadow_results WHERE user_id = %s ORDER BY decision_at", user_id)

    assert engine.row(counted) == before
    assert found.counts == {"newly_stopped": 1, "unchanged": 1, "needs_answers": 1}
    assert sum(found.counts.values()) == 3
    assert (results[0]["decision_id"], results[0]["kind"]) == (rows[0]["id"], "newly_stopped")
    assert (results[0]["before_code"], results[0]["reason_code"]) == ("REPLIED", "FLAGGED_RULE")
    assert results[0]["matched_rule"] == "flagged_keyword:weekdays"
    assert results[0]["reply"] is None
    assert early["id"] not in [each["decision_id"] for each in results]
    look(engine.url)
    assert trial_now(engine.url, shadow).counts == found.counts


def test_new_answers_are_asked_within_the_budgets_or_counted(engine: Running, sandbox: SandboxHandle) -> None:
    """Without money nothing is asked; a spent budget asks no more; over the day's number none is decided."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["weekdays"])
    silent = started(engine.url, user_id, {"flagged_keywords": ["casino"]})
    asking = started(engine.url, user_id, {"flagged_keywords": []}, usd_a_day=0.5)
    settings = settings_of(engine.url, engine.redis_url, sandbox)
    for _ in range(2):
        engine.decide(user_id, QUESTION)
    look(engine.url, settings=settings)
    first = [trial_now(engine.url, each).counts for each in (silent, asking)]
    results = engine.rows(
        "SELECT shadow_id, before_code, reply FROM shadow_results WHERE user_id = %s", user_id
    )
    engine.decide(user_id, QUESTION)
    look(engine.url, settings=settings, limits=replace(AT_ONCE, usd_a_day=0.0))
    spent = trial_now(engine.url, asking)
    engine.decide(user_id, QUESTION)
    look(engine.url, settings=settings, limits=replace(AT_ONCE, decisions_a_day=1))
    over = trial_now(engine.url, asking)

    assert first == [{"needs_answers": 2}, {"newly_released": 2}]
    assert [(each["shadow_id"], each["before_code"]) for each in results] == [
        (asking.trial_id, "FLAGGED_RULE")
    ] * 2
    assert all("weekdays" in each["reply"] for each in results)
    assert engine.rows("SELECT 1 FROM outbox WHERE user_id = %s", user_id) == []
    assert spent.counts["needs_answers"] == 1
    assert over.counts["over_budget"] == 1
    assert over.day_decisions == 3


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("raises", "ValueError while deciding"),
        ("hangs", "a decision did not end within 5 s"),
        ("ends", "a decision ended its process"),
    ],
)
def test_a_candidate_at_fault_is_switched_off_and_no_event_notices(
    engine: Running, fault: str, why: str
) -> None:
    """The endings are those of an account without a shadow; another shadow goes on."""
    plain, shadowed = (engine.account(documents=HOURS) for _ in range(2))
    shadow = started(engine.url, shadowed, {**STOPS, "flagged_phrases": [fault]})
    ends = {each: without_timing(engine.decide(each, QUESTION)) for each in (plain, shadowed)}
    look(engine.url, limits=replace(AT_ONCE, alone_s=5.0))
    off = trial_now(engine.url, shadow)
    other = started(engine.url, shadowed, STOPS)
    after = engine.decide(shadowed, QUESTION)
    look(engine.url)

    assert ends[plain] == ends[shadowed]
    assert off.end is not None
    assert (off.state, off.end.made_by, off.end.automatic) == ("failed", "hushgate", True)
    assert off.end.reason == why
    assert off.counts == {}
    assert without_timing(after) == ends[plain]
    assert trial_now(engine.url, other).counts == {"newly_stopped": 1}


def test_a_fault_of_the_live_settings_is_not_the_candidates(engine: Running) -> None:
    """A decision that cannot be made again at all is counted, and the shadow goes on."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, STOPS)
    row = engine.decide(user_id, QUESTION)

    async def damage(source: Pool) -> None:
        (stored,) = await load_decisions(source, [row["id"]])
        assert stored.recording is not None
        recording = decoded(stored.recording)
        never = encoded(replace(recording, walls=(10**18,) * len(recording.walls)))  # after the year 9999
        await fetch_rows(
            source, "UPDATE recordings SET data = %s WHERE decision_id = %s RETURNING 1", (never, row["id"])
        )

    call(engine.url, damage, role=None)
    look(engine.url)
    found = trial_now(engine.url, shadow)

    assert (found.state, found.counts) == ("running", {"failed": 1})


@pytest.mark.parametrize("error", [ValueError("a bug"), StorageUnavailable("too slow", may_be_input=True)])
def test_a_shadow_that_cannot_be_read_stops_no_other(
    engine: Running, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The one that is most behind comes first in each round."""
    stuck, other = (engine.account(documents=HOURS) for _ in range(2))
    shadows = [started(engine.url, each, STOPS) for each in (stuck, other)]
    for each in (stuck, other):
        engine.decide(each, QUESTION)
    spent = spent_today

    async def read(source: Pool, user_id: str, day: date) -> tuple[int, float]:
        if user_id == stuck:
            raise error
        return await spent(source, user_id, day)

    monkeypatch.setattr(shadow_run, "spent_today", read)
    look(engine.url)

    assert [trial_now(engine.url, each).counts for each in shadows] == [{}, {"newly_stopped": 1}]


def test_under_load_and_when_late_the_oldest_are_dropped(engine: Running) -> None:
    """While events wait nothing is decided; what is too old then is counted and never decided."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, STOPS)
    engine.decide(user_id, QUESTION)
    look(engine.url, loaded=True)
    waiting = trial_now(engine.url, shadow)
    look(engine.url, then=timedelta(seconds=400))
    dropped = trial_now(engine.url, shadow)

    assert waiting.counts == {}
    assert dropped.counts == {"dropped": 1}
    assert engine.rows("SELECT 1 FROM shadow_results WHERE user_id = %s", user_id) == []


def test_two_runners_count_nothing_twice(engine: Running) -> None:
    """The second one's step is refused, with all that it found."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, STOPS)
    row = engine.decide(user_id, QUESTION)
    place = TrialPosition(at=row["created_at"], decision_id=row["id"])
    done = TrialProgress(to=place, counts={"unchanged": 1}, decided=1)
    today = datetime.now(UTC).date()
    moved = [call(engine.url, lambda source: store_progress(source, shadow, done, today)) for _ in range(2)]

    assert [each is not None for each in moved] == [True, False]
    assert trial_now(engine.url, shadow).counts == {"unchanged": 1}


def test_saved_settings_and_withdrawn_candidates(engine: Running) -> None:
    """Changes are tried on top of the settings that decided; a withdrawn candidate ends its shadow."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, {"flagged_keywords": ["parcel"]})
    engine.change(user_id, flagged_phrases=["on sunday"])
    engine.decide(user_id, "Are you open on Sunday?")
    engine.decide(user_id, "Where is my parcel?")
    look(engine.url)
    found, tried = trial_now(engine.url, shadow), shadow.candidate_id
    assert tried is not None
    call(engine.url, lambda source: withdraw_candidate(source, tried, datetime.now(UTC)))
    look(engine.url)

    stopped = trial_now(engine.url, shadow)

    assert found.counts["unchanged"] == 1
    assert sum(found.counts.values()) == 2
    assert (stopped.state, [each.automatic for each in stopped.steps]) == ("stopped", [False, True])


def test_what_cannot_be_started_is_refused(engine: Running) -> None:
    """A fourth shadow, a second of one candidate, one that changes nothing; workers may do nothing."""
    url, user_id = engine.url, engine.account()
    first = candidate(url, user_id, {"prompt": "1"}).candidate_id
    call(url, lambda source: shadows.start_shadow(source, first, actor()))
    with pytest.raises(TrialRefused, match="one of this candidate"):
        call(url, lambda source: shadows.start_shadow(source, first, actor()))
    started(url, user_id, {"prompt": "2"})
    last = started(url, user_id, {"prompt": "3"})
    fourth = candidate(url, user_id, {"prompt": "4"}).candidate_id
    with pytest.raises(TrialRefused, match="at most 3"):
        call(url, lambda source: shadows.start_shadow(source, fourth, actor()))
    call(url, lambda source: shadows.stop_shadow(source, last.trial_id, actor("enough")))
    with pytest.raises(TrialRefused, match="expected one that runs"):
        call(url, lambda source: shadows.stop_shadow(source, last.trial_id, actor()))
    engine.change(user_id, prompt="4")
    with pytest.raises(AccountRejected):
        call(url, lambda source: shadows.start_shadow(source, fourth, actor()))
    with pytest.raises(TrialRefused, match="reason"):
        call(url, lambda source: shadows.start_shadow(source, fourth, actor(" ")))
    assert call(url, shadows.may_run_shadows)
    assert not call(url, shadows.may_run_shadows, role=WORKER_ROLE)
    with psycopg.connect(url) as connection:
        connection.execute("SET ROLE hushgate_worker")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT reply FROM shadow_results")


def test_a_person_of_any_login_stops_a_shadow_as_a_person(engine: Running) -> None:
    """With a line of the access log, also with the name of the engine."""
    shadow = started(engine.url, engine.account(), {"prompt": "Be brief."})
    by = actor("seen enough", made_by=shadows.RUNNER)
    call(engine.url, lambda source: shadows.stop_shadow(source, shadow.trial_id, by))
    stopped = trial_now(engine.url, shadow)
    lines = engine.rows(
        "SELECT detail ->> 'step' AS step FROM access_log WHERE detail ->> 'shadow' = %s ORDER BY id",
        str(shadow.trial_id),
    )

    assert [(each.kind, each.automatic) for each in stopped.steps] == [("start", False), ("stop", False)]
    assert [each["step"] for each in lines] == ["start", "stop"]


def test_the_command_line_starts_shows_and_stops(engine: Running, tmp_path: Path) -> None:
    """From the candidate to the list of the decisions that it would have stopped."""
    url, shop = engine.url, engine.account(documents=HOURS)
    shell = Shell(environment={"DATABASE_URL": url, "HOME": str(tmp_path)}, folder=tmp_path)
    tried = shell.run("trials", "candidates", "add", shop, "--set", 'flagged_keywords=["weekdays"]').rows[0]
    begun = shell.run("trials", "shadow", "start", tried["candidate_id"], "--reason", "a try")
    again = shell.run("trials", "shadow", "start", tried["candidate_id"], "--reason", "a try")
    row = engine.decide(shop, QUESTION)
    look(url)
    shadow = begun.rows[0]["shadow_id"]
    running = shell.run("trials", "shadow", "list", shop)
    shown = shell.run("trials", "shadow", "show", shadow)
    listed = shell.run("decisions", "list", "--shadow", f"newly_stopped:{tried['candidate_id']}")
    other = shell.run("decisions", "list", "--shadow", f"newly_released:{tried['candidate_id']}")
    wrong = shell.run("decisions", "list", "--shadow", "stopped")
    ended = shell.run("trials", "shadow", "stop", shadow, "--reason", "seen enough")

    assert (begun.code, again.code, ended.code, wrong.code) == (0, 1, 0, 2), begun.err
    assert shown.rows == [{"group": "newly_stopped", "decisions": 1, "share": 1.0}]
    assert [each["id"] for each in listed.rows] == [str(row["id"])]
    assert other.rows == []
    assert "newly_stopped" in wrong.err
    stopped = shell.run("trials", "shadow", "list", shop)
    assert [(row["state"], row["ended_why"]) for row in (*running.rows, *stopped.rows)] == [
        ("running", None),
        ("stopped", "seen enough"),
    ]


def test_erasure_and_deleted_messages_take_what_shadows_stored(engine: Running) -> None:
    """Also of the other decisions of the conversation; a decision erased before its turn is counted."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, STOPS)
    engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    look(engine.url)
    kept = engine.rows("SELECT 1 FROM shadow_results WHERE user_id = %s", user_id)
    engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m2")
    engine.decide(
        user_id, "", type="message_deleted", conversation_id="talk", message_id="m1", event_id="gone"
    )
    look(engine.url)

    assert len(kept) == 1
    assert engine.rows("SELECT 1 FROM shadow_results WHERE user_id = %s", user_id) == []
    assert trial_now(engine.url, shadow).counts["not_recorded"] == 1


def test_an_erased_author_leaves_nothing_with_shadows(
    engine: Running, sandbox: SandboxHandle, redis_url: str
) -> None:
    """Nor do others of the conversation, unless a hold keeps them; what comes late is not stored."""
    gone, user_id = "author-blorp-8812", engine.account(documents=HOURS, flagged_keywords=["weekdays"])
    shadow = started(engine.url, user_id, {"flagged_keywords": []}, usd_a_day=0.5)
    engine.database.execute(
        "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)"
        " VALUES (gen_random_uuid(), %s, 'author', 'held', 'a case', 'kim')",
        (user_id,),
    )
    places = ((gone, "talk"), ("beside", "talk"), ("held", "talk"), ("other", "elsewhere"))
    for author, place in places:
        engine.decide(user_id, QUESTION, author_id=author, conversation_id=place)
    look(engine.url, settings=settings_of(engine.url, redis_url, sandbox))
    stored = (
        "SELECT author_id, decision_id, reply FROM shadow_results WHERE user_id = %s ORDER BY decision_at"
    )
    before = engine.rows(stored, user_id)
    erasure = asyncio.run(erasing.request(engine.url, user_id, ErasureKind.AUTHOR, gone))
    asyncio.run(erasing.advance(engine.url, redis_url))
    preview = asyncio.run(erasing.confirm(engine.url, erasure)).preview or {}
    asyncio.run(erasing.advance(engine.url, redis_url))
    found = asyncio.run(erasing.load(engine.url, erasure))
    late = TrialDifference(
        decision_id=before[0]["decision_id"], kind="newly_released", before_code="FLAGGED_RULE",
        decision="respond", reason_code="REPLIED", reason="", matched_rule=None, reply="a late reply",
    )  # fmt: skip
    now = trial_now(engine.url, shadow)
    later = TrialPosition(at=now.reached_at + timedelta(seconds=1), decision_id=now.reached_id)
    done = TrialProgress(to=later, counts={"newly_released": 1}, differences=[late])
    moved = call(engine.url, lambda source: store_progress(source, now, done, datetime.now(UTC).date()))

    assert [row["author_id"] for row in before] == [author for author, _ in places]
    assert all("weekdays" in row["reply"] for row in before)
    assert found.phase == "finished"
    for table in ("shadow_results", "recordings"):
        assert preview[table] == found.erased[table] == 2, table
    assert moved is not None
    assert [row["author_id"] for row in engine.rows(stored, user_id)] == ["held", "other"]
    assert erasing.places(engine.url, engine.redis, gone, "a late reply") == []


def _advance_to(url: str, redis_url: str, erasure: UUID, phase: str) -> None:
    while asyncio.run(erasing.load(url, erasure)).phase != phase:
        with contextlib.suppress(erasing.Interrupted):
            asyncio.run(erasing.advance_one_step(url, redis_url))


def test_a_recording_that_was_stored_during_an_erasure_goes_in_its_second_pass(
    engine: Running, redis_url: str
) -> None:
    """Of another author's decision, which read the conversation before its first pass."""
    gone, user_id = "author-blorp-8813", engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION, author_id=gone, conversation_id="talk")
    beside = engine.decide(user_id, QUESTION, author_id="beside", conversation_id="talk")["id"]
    (kept,) = engine.rows("SELECT * FROM recordings WHERE decision_id = %s", beside)
    erasure = asyncio.run(erasing.request(engine.url, user_id, ErasureKind.AUTHOR, gone))
    asyncio.run(erasing.advance(engine.url, redis_url))
    asyncio.run(erasing.confirm(engine.url, erasure))
    _advance_to(engine.url, redis_url, erasure, "conversations")
    stored = "SELECT decision_id FROM recordings WHERE user_id = %s"
    between = engine.rows(stored, user_id)
    engine.database.execute(
        f"INSERT INTO recordings ({', '.join(kept)}) VALUES ({', '.join(['%s'] * len(kept))})",
        tuple(kept.values()),
    )
    _advance_to(engine.url, redis_url, erasure, "finished")

    assert between == []
    assert engine.rows(stored, user_id) == []


def test_the_job_of_beat_runs_shadows(engine: Running, sandbox: SandboxHandle) -> None:
    """With the settings of a deployment, until it is cancelled."""
    user_id = engine.account(documents=HOURS)
    shadow = started(engine.url, user_id, STOPS)
    engine.decide(user_id, QUESTION)
    settings = settings_of(engine.url, engine.redis_url, sandbox)

    async def run() -> None:
        job = asyncio.create_task(run_shadows(settings))
        seen = asyncio.to_thread(eventually, lambda: trial_now(engine.url, shadow).counts, "the decision")
        try:
            await seen
        finally:
            await cancel_all([job])

    asyncio.run(run())

    assert trial_now(engine.url, shadow).counts == {"newly_stopped": 1}
