"""Rollouts on a running engine: arms as hashed, automatic return, steps that are stored or refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from db.account_settings import accounts
from db.pool import WORKER_ROLE, Pool
from db.review_store import REVIEWER_ROLE
from tasks.entries.rulebooks import Rulebook
from tasks.shards.clients import connect
from tests.support.replays import replay_differs
from tests.support.running import Running, eventually
from tests.support.terminal import Shell
from tests.support.trials import actor, call, candidate, trial_now
from trials.jobs import tasks as rollout_jobs
from trials.jobs.tasks import CheckRests, watch_rollouts
from trials.pure.rollouts.bounds import Measure, parse_bound
from trials.pure.rollouts.plan import Plan
from trials.pure.trial import Trial
from trials.store import rollout_steps, rollouts
from trials.store.candidates import (
    TrialRefused,
    withdraw_candidate,
)
from trials.store.rollouts import load_figures
from worker.account_settings import changed
from worker.errors import StorageUnavailable
from worker.model import Account
from worker.running_rollouts import place_of, places_of

NUMBERS = count(1)
BAD = {"flagged_keywords": ["open"]}
TEXT = "When are you open?"


def shop_at(url: str) -> str:
    """A new account."""
    user_id = f"shop-{next(NUMBERS)}"
    account = Account(user_id=user_id, version=0, ai_control_enabled=True)
    call(
        url,
        lambda source: accounts.store_account(source, account, changed_by="test"),
    )
    return user_id


def started(url: str, tried: UUID, share: float, *bounds: str, least: int = 5) -> Trial:
    """A running rollout."""
    plan = Plan(share=share, bounds=tuple(map(parse_bound, bounds)), least=least, metric=Measure.BLOCKS)
    return call(url, lambda source: rollout_steps.start_rollout(source, tried, plan, actor()))


def state(url: str, rollout: Trial) -> str:
    """The stored state."""
    return trial_now(url, rollout).state


def test_a_bad_candidate_is_returned_and_no_event_is_lost(engine: Running) -> None:
    """It blocks everything in a fifth of the conversations, as hashed, until the guard looks."""
    shop, url = engine.account(), engine.url
    found = candidate(url, shop, BAD)
    rollout = started(url, found.candidate_id, 0.2, "blocks<=+0.1")
    engine.decide(shop, "hello", conversation_id="first")

    def trial() -> Rulebook | None:
        return engine.runtime.call(engine.runtime.parts.rulebooks.get(shop)).candidate

    eventually(trial, "the worker to try the candidate")
    names = [f"{shop}-{number}" for number in range(200)]
    in_arm = [each for each in names if place_of(rollout.trial_id, each) < places_of(0.2)][:12]
    others = [each for each in names if place_of(rollout.trial_id, each) >= places_of(0.2)][:48]
    events = [engine.publish(shop, TEXT, event_id=each, conversation_id=each) for each in (*in_arm, *others)]
    rows = {each: engine.decided(shop, each) for each in events}
    figures = call(url, lambda source: load_figures(source, rollout.trial_id, datetime.now(UTC)))
    returned = call(url, lambda source: watch_rollouts(source, datetime.now(UTC)), role=WORKER_ROLE)
    assert (returned, state(url, rollout)) == (1, "returned"), figures
    eventually(lambda: not trial(), "the worker to hear of the return")
    after = [engine.decide(shop, TEXT) for _ in range(3)]

    expected = {
        each: found.candidate_id if place_of(rollout.trial_id, each) < places_of(0.2) else None
        for each in events
    }
    tried = [each for each, by in expected.items() if by]
    assert tried == in_arm
    assert {each: row["candidate_id"] for each, row in rows.items()} == expected
    assert {rows[each]["reason_code"] for each in tried} == {"FLAGGED_RULE"}
    assert figures.candidate.counted(Measure.BLOCKS) >= len(tried)
    assert figures.live.counted(Measure.BLOCKS) >= 60 - len(tried)
    assert figures.candidate.figure(Measure.BLOCKS) > 0.8
    assert figures.live.figure(Measure.BLOCKS) == 0
    assert [row["candidate_id"] for row in after] == [None] * 3
    steps = trial_now(url, rollout).steps
    assert [(each.kind, each.automatic) for each in steps] == [("start", False), ("return", True)]
    assert steps[1].reason.startswith("blocks<=+0.1: expected at most")
    assert replay_differs(engine, [row["id"] for row in rows.values()]) == {}


def test_the_command_line_takes_every_step(database_url: str, tmp_path: Path) -> None:
    """From the candidate to the settings; a bound that cannot be read and a second rollout are refused."""
    shop = shop_at(database_url)
    shell = Shell(environment={"DATABASE_URL": database_url, "HOME": str(tmp_path)}, folder=tmp_path)
    made = shell.run("trials", "candidates", "add", shop, "--set", 'prompt="Be brief."', "--note", "shorter")
    tried = made.rows[0]["candidate_id"]
    words = ("trials", "rollouts", "start", tried, "--share", "0.1", "--reason", "a try", "--bound")
    wrong = shell.run(*words, "blocks<<1")
    rollout = shell.run(*words, "blocks<=+0.05").rows[0]["rollout_id"]
    again = shell.run(*words, "blocks<=+0.05")
    step = shell.run("trials", "rollouts", "step", rollout, "--share", "0.5", "--reason", "no bound is near")
    figures = shell.run("trials", "rollouts", "show", shop, "--figures")
    finished = shell.run("trials", "rollouts", "finish", rollout, "--reason", "it is better")
    steps = shell.run("trials", "rollouts", "show", shop, "--steps")

    assert (made.code, wrong.code, again.code, step.code, finished.code) == (0, 2, 1, 0, 0), finished.err
    assert "blocks<<1" in wrong.err
    assert {row["measure"] for row in figures.rows if "measure" in row} == {each.value for each in Measure}
    assert [(row["kind"], row["reason"]) for row in steps.rows] == [
        ("start", "a try"), ("share", "no bound is near"), ("finish", "it is better")
    ]  # fmt: skip
    account = call(database_url, lambda source: accounts.current_account(source, shop))
    assert account.prompt == "Be brief."


def test_a_second_rollout_of_an_account_is_refused(database_url: str) -> None:
    """Also a step of one that has ended, and a candidate of settings that are not in force."""
    url, shop = database_url, shop_at(database_url)
    found = candidate(url, shop, {"prompt": "Be brief."})
    rollout = started(url, found.candidate_id, 0.1, "blocks<=0.5")
    with pytest.raises(TrialRefused, match="at a time"):
        started(url, found.candidate_id, 0.1, "blocks<=0.5")
    call(url, lambda source: rollout_steps.return_rollout(source, rollout.trial_id, actor()))
    with pytest.raises(TrialRefused, match="expected one that runs"):
        call(url, lambda source: rollout_steps.step_rollout(source, rollout.trial_id, 0.5, actor()))
    account = call(url, lambda source: accounts.current_account(source, shop))
    other = changed(account, {"prompt": "Be long."})
    call(url, lambda source: accounts.store_account(source, other, changed_by="kim"))
    with pytest.raises(TrialRefused, match="store it anew"):
        started(url, found.candidate_id, 0.1, "blocks<=0.5")
    with pytest.raises(TrialRefused, match="expected at least one"):
        started(url, found.candidate_id, 0.1)


def test_settings_that_are_saved_end_the_rollout(database_url: str) -> None:
    """In the same transaction, with the version that ended it."""
    url, shop = database_url, shop_at(database_url)
    found = candidate(url, shop, {"prompt": "Be brief."})
    rollout = started(url, found.candidate_id, 0.1, "blocks<=0.5")
    account = call(url, lambda source: accounts.current_account(source, shop))
    other = changed(account, {"prompt": "Be long."})
    call(url, lambda source: accounts.store_account(source, other, changed_by="lee"))
    steps = trial_now(url, rollout).steps

    assert state(url, rollout) == "returned"
    assert [(each.kind, each.made_by, each.version) for each in steps][1:] == [("return", "lee", 2)]


@pytest.mark.parametrize("step", ["watch", "step", "finish"])
def test_a_rollout_whose_candidate_was_withdrawn_is_returned(database_url: str, step: str) -> None:
    """By beat, and by a step, which is refused; the settings in force stay."""
    url, shop = database_url, shop_at(database_url)
    found = candidate(url, shop, {"prompt": "Be brief."})
    rollout = started(url, found.candidate_id, 0.5, "blocks<=0.5")
    call(url, lambda source: withdraw_candidate(source, found.candidate_id, datetime.now(UTC)))
    if step == "watch":
        call(url, lambda source: watch_rollouts(source, datetime.now(UTC)), role=WORKER_ROLE)
    elif step == "step":
        with pytest.raises(TrialRefused, match="withdrew"):
            call(url, lambda source: rollout_steps.step_rollout(source, rollout.trial_id, 1, actor()))
    else:
        with pytest.raises(TrialRefused, match="withdrew"):
            call(url, lambda source: rollout_steps.finish_rollout(source, rollout.trial_id, actor()))

    assert state(url, rollout) == "returned"
    assert call(url, lambda source: accounts.current_account(source, shop)).version == found.base_version


def test_a_person_of_any_login_returns_a_rollout_as_a_person(database_url: str) -> None:
    """With a line of the access log, and no alert, also with the name of the worker's guard."""
    url, shop = database_url, shop_at(database_url)
    rollout = started(url, candidate(url, shop, {"prompt": "Be brief."}).candidate_id, 0.1, "blocks<=0.5")
    by = actor("no need", made_by="guardrail")
    call(url, lambda source: rollout_steps.return_rollout(source, rollout.trial_id, by))
    steps = trial_now(url, rollout).steps
    with psycopg.connect(url, row_factory=dict_row) as database:
        lines = database.execute(
            "SELECT detail ->> 'step' AS step FROM access_log WHERE user_id = %s AND person = 'guardrail'",
            (shop,),
        ).fetchall()
        alerts = database.execute("SELECT FROM outgoing_events WHERE user_id = %s", (shop,)).fetchall()

    assert (steps[-1].kind, steps[-1].automatic) == ("return", False)
    assert [each["step"] for each in lines] == ["return"]
    assert not alerts


def test_the_place_of_a_conversation_is_the_same_in_sql(database_url: str) -> None:
    """Also of ids beyond ASCII."""
    rollout = UUID("01a20047-0dfa-71d7-8e88-c1d4329d1fb5")
    names = ["c", "Gespräch", "会話", "🎈 and more", *map(str, range(200))]
    query = "SELECT hushgate_rollout_place(%s, name) AS place FROM unnest(%s::text[]) name"
    with psycopg.connect(database_url, row_factory=dict_row) as database:
        rows = database.execute(query, (rollout, names)).fetchall()
    found = [row["place"] for row in rows]

    assert found == [place_of(rollout, each) for each in names]


@pytest.mark.parametrize("error", [ValueError("a bug"), StorageUnavailable("too slow", may_be_input=True)])
def test_a_rollout_that_cannot_be_checked_stops_no_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Its figures may take longer than a statement may; an outage ends the look."""
    url, check = database_url, rollout_steps.check_rollout
    stuck, sound = (
        started(url, candidate(url, shop_at(url), {"prompt": "Be brief."}).candidate_id, 0.5, "blocks<=0.5")
        for _ in range(2)
    )
    problems = {stuck.trial_id: error}

    async def checked(source: Pool, running: Trial, now: datetime) -> tuple[str, ...]:
        if running.trial_id in problems:
            raise problems[running.trial_id]
        return ("a bound",) if running.trial_id == sound.trial_id else await check(source, running, now)

    def watch() -> int:
        return call(url, lambda source: watch_rollouts(source, datetime.now(UTC)), role=WORKER_ROLE)

    monkeypatch.setattr(rollout_jobs, "check_rollout", checked)

    assert (watch(), state(url, sound), state(url, stuck)) == (1, "returned", "running")
    problems[stuck.trial_id] = StorageUnavailable("away")
    with pytest.raises(StorageUnavailable):
        watch()


def test_a_rollout_whose_check_took_long_rests_until_its_next_step(
    engine: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twentieth of a core of Postgres at most; without Redis every check is made."""
    monkeypatch.setattr(rollout_jobs, "SHORTEST_S", 0.5)
    shop, url = engine.account(), engine.url
    rollout = started(url, candidate(url, shop, BAD).candidate_id, 0.2, "blocks<=+0.9")
    checked: list[UUID] = []

    async def slow_check(source: Pool, running: Any, now: datetime) -> tuple[str, ...]:
        if running.trial_id == rollout.trial_id:
            checked.append(running.trial_id)
            await asyncio.sleep(0.1)
        return ()

    def watch(redis_url: str = engine.redis_url) -> int:
        async def looked(source: Pool) -> int:
            async with connect(redis_url) as redis:
                rests = CheckRests(redis=redis, stream=f"guard-{rollout.trial_id}")
                return await watch_rollouts(source, datetime.now(UTC), rests)

        call(url, looked, role=WORKER_ROLE)
        return len(checked)

    monkeypatch.setattr(rollout_jobs, "check_rollout", slow_check)

    assert [watch(), watch(), watch()] == [1, 1, 1]
    call(url, lambda source: rollout_steps.step_rollout(source, rollout.trial_id, 0.3, actor("more")))
    assert [watch(), watch()] == [2, 2]
    assert [watch("redis://127.0.0.1:1/0"), watch("redis://127.0.0.1:1/0")] == [3, 4]


PUT_IN_FORCE = (
    "INSERT INTO candidates (id, user_id, base_version, changes, source, created_by)"
    " VALUES (gen_random_uuid(), 'shop', 1, '{\"injection_check\": false}', 'person', 'kim')",
    "INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share, plan) SELECT"
    " gen_random_uuid(), user_id, 'rollout', candidate_id, base_version, changes, 1, plan"
    " FROM running_rollouts LIMIT 1",
    "INSERT INTO trial_steps (trial_id, kind, share, made_by, reason)"
    " SELECT rollout_id, 'start', 1, 'kim', 'forged' FROM running_rollouts LIMIT 1",
    "UPDATE trials SET share = 1",
    "UPDATE trials SET state = 'running', stepped_at = now()",
    "SELECT arms FROM trials",
)


@pytest.mark.parametrize("statement", PUT_IN_FORCE)
def test_a_login_of_workers_puts_no_settings_in_force(engine: Running, statement: str) -> None:
    """A stolen password of a worker cannot store a candidate, nor start, widen or revive a rollout."""
    shop, url = engine.account(), engine.url
    rollout = started(url, candidate(url, shop, BAD).candidate_id, 0.2, "blocks<=+0.1")
    with psycopg.connect(url, autocommit=True) as worker:
        worker.execute(f"SET ROLE {WORKER_ROLE}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            worker.execute(statement)

    assert state(url, rollout) == "running"


REWRITES = (
    "UPDATE trials SET changes = '{\"injection_check\": false}'",
    "UPDATE trials SET plan = '{}'",
    "UPDATE trials SET started_at = now()",
    "UPDATE trials SET arms = '[]'",
    "DELETE FROM trials",
    "UPDATE trial_steps SET made_by = 'lee'",
    "DELETE FROM trial_steps",
)


@pytest.mark.parametrize("statement", REWRITES)
def test_the_login_of_the_pages_rewrites_no_trial(engine: Running, statement: str) -> None:
    """What was tried within which bounds, its figures, and who took which step stay as stored."""
    url = engine.url
    started(url, candidate(url, engine.account(), BAD).candidate_id, 0.2, "blocks<=+0.1")
    with psycopg.connect(url, autocommit=True) as reviewer:
        reviewer.execute(f"SET ROLE {REVIEWER_ROLE}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reviewer.execute(statement.encode())


@pytest.mark.parametrize(
    "forgery",
    [
        "DELETE FROM trial_steps WHERE trial_id = %s",
        "UPDATE trials SET share = 1 WHERE id = %s",
    ],
    ids=["no step started it", "no step gave it this share"],
)
def test_workers_ignore_a_rollout_without_its_step(engine: Running, forgery: str) -> None:
    """Settings are tried as the stored steps say, or not at all."""
    shop, url = engine.account(), engine.url
    rollout = started(url, candidate(url, shop, BAD).candidate_id, 0.2, "blocks<=+0.1")
    before = call(url, lambda source: rollouts.running_rollouts(source, [shop]), role=WORKER_ROLE)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(forgery, (rollout.trial_id,))
    after = call(url, lambda source: rollouts.running_rollouts(source, [shop]), role=WORKER_ROLE)

    assert list(before) == [shop]
    assert after == {}


def test_workers_try_what_the_candidate_changes(engine: Running) -> None:
    """The login of the pages may store a trial, but not one that tries more than the candidate it names."""
    shop, url = engine.account(), engine.url
    named = candidate(url, shop, BAD)
    rollout = started(url, named.candidate_id, 0.2, "blocks<=+0.1")
    with psycopg.connect(url, autocommit=True) as reviewer:
        reviewer.execute("UPDATE trials SET state = 'returned' WHERE id = %s", (rollout.trial_id,))
        reviewer.execute(f"SET ROLE {REVIEWER_ROLE}")
        reviewer.execute(
            "WITH forged AS ("
            "INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share)"
            " SELECT gen_random_uuid(), user_id, kind, candidate_id, base_version,"
            " '{\"injection_check\": false}', share FROM trials WHERE id = %s RETURNING id, share)"
            " INSERT INTO trial_steps (trial_id, kind, share, made_by, reason)"
            " SELECT id, 'start', share, 'kim', 'forged' FROM forged",
            (rollout.trial_id,),
        )
    running = call(url, lambda source: rollouts.running_rollouts(source, [shop]), role=WORKER_ROLE)

    assert running[shop].changes == named.changes
