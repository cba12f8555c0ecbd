"""Recordings, candidates, replays and backtests on real servers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from selectolax.lexbor import LexborHTMLParser

from db.account_settings.accounts import current_account
from db.people.records import Role
from db.pool import Pool
from review.accounts import settings_form
from tests.support.pools import in_pool
from tests.support.reviewing import Visitors, add_person, signed_in
from tests.support.running import Running
from tests.support.trials import candidate
from trials.jobs.backtest_job import run_backtest
from trials.pure.replay.difference import DifferenceKind
from trials.pure.replay.groups import ReplayState
from trials.pure.trial import Trial
from trials.store.backtests import begin_backtest
from trials.store.candidates import (
    Actor,
    TrialRefused,
    TriedSettings,
    candidate_account,
    changed_account,
)
from trials.store.recordings import load_decisions
from trials.store.replaying import Replayer
from trials.store.trials import get_trial
from worker.account_settings import AccountRejected

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"


def test_a_backtest_counts_what_would_end_otherwise(engine: Running) -> None:
    """Stopped replies are counted and shown; a killed run continues; all again gives the same counts."""
    user_id = engine.account(documents=HOURS)
    for text in (QUESTION, "Hello, when are you open on Sunday?", "I will kill you"):
        engine.decide(user_id, text)

    async def run(source: Pool, *, full: bool, then: timedelta) -> Trial:
        now = datetime.now(UTC) + then
        asked: dict[str, Any] = {"flagged_keywords": ["weekdays"]}
        since, by = now - timedelta(days=1), Actor(made_by="kim", now=now)
        tried = TriedSettings(user_id=user_id, base_version=1, changes=asked)
        begun = await begin_backtest(source, tried, since, by)
        again = await begin_backtest(source, tried, since, by)
        assert begun.trial_id == again.trial_id
        return await run_backtest(
            source, engine.url, again, now=lambda: datetime.now(UTC), processes=1, full=full
        )

    fast = in_pool(engine.url, lambda source: run(source, full=False, then=timedelta(0)), role=None)
    full = in_pool(engine.url, lambda source: run(source, full=True, then=timedelta(seconds=1)), role=None)

    assert fast.state == "finished"
    assert (fast.done, fast.counts) == (3, full.counts)
    assert fast.counts[DifferenceKind.NEWLY_STOPPED] >= 1
    assert fast.examples[0]["after"] in {"FLAGGED_RULE", "REPLY_FLAGGED_RULE"}


def test_two_runs_of_a_backtest_count_nothing_twice(engine: Running) -> None:
    """The second one is refused at its first chunk, with all that it counted."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION)

    async def run(source: Pool) -> Trial | None:
        now = datetime.now(UTC)
        tried = TriedSettings(user_id=user_id, base_version=1, changes={"flagged_keywords": ["weekdays"]})
        begun = await begin_backtest(source, tried, now - timedelta(days=1), Actor(made_by="kim", now=now))
        again = partial(run_backtest, source, engine.url, begun, now=lambda: datetime.now(UTC), processes=1)
        await again()
        with pytest.raises(TrialRefused, match="got a second"):
            await again()
        return await get_trial(source, begun.trial_id)

    found = in_pool(engine.url, run, role=None)

    assert found is not None
    assert (found.done, found.counts["newly_stopped"]) == (1, 1)


def test_pages_say_what_a_change_would_have_done_before_it_is_stored(
    engine: Running, visitors: Visitors
) -> None:
    """A new rule, a removed one, and chats switched off."""
    user_id = engine.account(documents=HOURS, flagged_keywords=["sunday"])
    for text in (QUESTION, "Hello, when are you open on Sunday?"):
        engine.decide(user_id, text)
    rules, settings = f"/accounts/{user_id}/rules/check", f"/accounts/{user_id}/settings"
    account = in_pool(engine.url, lambda source: current_account(source, user_id), role=None)
    typed = settings_form.form_of_account(account)
    admin = signed_in(visitors, add_person(engine.url, Role.ACCOUNT_ADMIN, account=user_id))
    base = {"version": str(account.version), "flagged_phrases": "", "allowed": ""}
    stops = admin.post(rules, **base, flagged_keywords="sunday\nweekdays")
    frees = admin.post(rules, **base, flagged_keywords="")
    fields = {**typed.fields, "version": str(account.version), "ai_enabled_for_chats": ""}
    silent = admin.post(settings, **fields)

    assert "Of the newest 2 decisions" in effect(stops.text)
    assert "would stop 1 reply that went out" in effect(stops.text)
    assert "For 1 a model would have to be asked again." in effect(frees.text)
    assert "would stop 1 reply that went out" in effect(silent.text)


def test_the_page_replays_a_decision_with_its_settings_and_with_a_candidate(
    engine: Running, visitors: Visitors
) -> None:
    """The same bit for bit; stopped by a candidate's rule; not for a viewer, nothing sent."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    tried = candidate(engine.url, user_id, {"flagged_keywords": ["weekdays"]})
    path = f"/decisions/{decided['id']}"
    lead = signed_in(visitors, add_person(engine.url, Role.LEAD, account=user_id))
    before = engine.rows("SELECT id FROM outbox")
    link = f'href="{path}/replay"' in lead.get(path).text
    same = lead.get(f"{path}/replay").text
    other = lead.get(f"{path}/replay?candidate={tried.candidate_id}").text
    unknown = lead.get(f"{path}/replay?candidate={decided['id']}")
    after = engine.rows("SELECT id FROM outbox")
    viewer = signed_in(visitors, add_person(engine.url, Role.VIEWER, account=user_id))
    refused = viewer.get(f"{path}/replay").status_code

    assert link
    assert "bit for bit" in replayed(same)
    assert replayed(other).startswith("Newly stopped")
    assert "flagged_keyword:weekdays" in other
    assert (unknown.status_code, refused) == (404, 403)
    assert before == after


def replayed(page: str) -> str:
    """What a page says of a replay, in one line."""
    found = LexborHTMLParser(page).css_first("#replayed")
    assert found is not None, page
    return " ".join(found.text().split())


def effect(page: str) -> str:
    """What a page says of a change, in one line."""
    found = LexborHTMLParser(page).css_first("[data-preview]")
    assert found is not None, page
    return " ".join(found.text().split())


def test_changes_on_a_version_that_is_not_stored_are_refused(engine: Running) -> None:
    """Never tried on settings that no account has; version 0 is an account without settings."""
    changes = {"prompt": "Be brief."}

    async def run(source: Pool) -> tuple[str, str]:
        unset = await changed_account(source, "no-settings", 0, changes)
        with pytest.raises(AccountRejected) as refused:
            await changed_account(source, "no-settings", 3, changes)
        return unset.prompt, str(refused.value)

    assert in_pool(engine.url, run, role=None) == (
        "Be brief.",
        "base_version: expected a stored version of the settings, got 3",
    )


def test_what_cannot_be_replayed_is_said(engine: Running) -> None:
    """No recording, a tombstone, a damaged recording and a model that was not asked are never guessed."""
    silent = engine.account(documents=HOURS, record_answers=False)
    recorded = engine.account(documents=HOURS)
    ids = [engine.decide(each, QUESTION)["id"] for each in (silent, recorded)]
    tried = candidate(engine.url, recorded, {"prompt": "Be brief."})

    async def run(source: Pool) -> list[ReplayState]:
        plain, stored = await load_decisions(source, ids)
        changed = {recorded: await candidate_account(source, tried)}
        pinned = Replayer(source=source)
        damaged = replace(stored, recording=b"oxyz")
        made = [await pinned.replay(each) for each in (stored, plain, replace(stored, erased=True), damaged)]
        made.append(await Replayer(source=source, candidates=changed).replay(stored))
        return [each.state for each in made]

    assert in_pool(engine.url, run, role=None) == [
        ReplayState.MADE,
        ReplayState.NOT_RECORDED,
        ReplayState.ERASED,
        ReplayState.UNREADABLE,
        ReplayState.NEEDS_ANSWERS,
    ]


def test_a_candidate_that_cannot_be_used_is_refused(engine: Running) -> None:
    """The message names the setting or the rule, and nothing is stored."""
    user_id = engine.account()
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"hold_max_s": -1}, "hold_max_s"),
        ({"flagged_keywords": ["/(/"]}, "rule '/(/'"),
        ({}, "changes"),
    )
    for changes, named in refused:
        with pytest.raises(AccountRejected) as error:
            candidate(engine.url, user_id, changes)
        assert error.value.problems[0][0] == named
    assert engine.rows("SELECT id FROM candidates WHERE user_id = %s", user_id) == []


def test_workers_write_recordings_and_never_read_them(engine: Running) -> None:
    """Reviewers read them and change nothing; of candidates only the withdrawal changes."""
    user_id = engine.account(documents=HOURS)
    engine.decide(user_id, QUESTION)
    rights = {
        "hushgate_worker": ("INSERT",),
        "hushgate_reviewer": ("SELECT",),
    }
    for role, allowed in rights.items():
        for right in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            row = engine.row("SELECT has_table_privilege(%s, 'recordings', %s) AS may", role, right)
            assert row == {"may": right in allowed}
    with psycopg.connect(engine.url) as connection:
        connection.execute("SET ROLE hushgate_reviewer")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE candidates SET created_by = 'x'")


def test_a_deleted_message_takes_recordings_of_its_conversation(engine: Running) -> None:
    """They hold the lines of the conversation."""
    user_id = engine.account(documents=HOURS)
    first = engine.decide(user_id, QUESTION, conversation_id="talk", message_id="m1")
    second = engine.decide(user_id, "And on Sunday, when?", conversation_id="talk", message_id="m2")
    kept = engine.rows("SELECT 1 FROM recordings WHERE user_id = %s", user_id)
    deleted = engine.decide(
        user_id, "", type="message_deleted", conversation_id="talk", message_id="m1", event_id="gone"
    )
    left = engine.rows("SELECT decision_id FROM recordings WHERE user_id = %s", user_id)

    assert len(kept) == 2
    assert [row["decision_id"] for row in left] == [deleted["id"]]
    assert first["id"] != second["id"]


def test_the_page_lists_candidates_and_withdraws_them(engine: Running, visitors: Visitors) -> None:
    """A lead withdraws one; a viewer sees the list without the button."""
    user_id = engine.account()
    tried = candidate(engine.url, user_id, {"prompt": "Be brief."})
    viewer = signed_in(visitors, add_person(engine.url, Role.VIEWER, account=user_id))
    seen = viewer.get(f"/accounts/{user_id}/learn").text
    lead = signed_in(visitors, add_person(engine.url, Role.LEAD, account=user_id))
    before = lead.get(f"/accounts/{user_id}/learn").text
    lead.post(f"/accounts/{user_id}/learn/withdraw", candidate=str(tried.candidate_id))
    after = lead.get(f"/accounts/{user_id}/learn").text

    assert "from overturns" in seen
    assert "Withdraw</button>" not in seen
    assert "Withdraw</button>" in before
    assert "withdrawn" in after
