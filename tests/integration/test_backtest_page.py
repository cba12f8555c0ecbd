"""The page of a backtest: its counts, and its examples side by side for people who may read texts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from selectolax.lexbor import LexborHTMLParser
from uuid_utils.compat import uuid7

from compliance.erasure.records import ErasureKind
from db.people.records import Role
from db.pool import create_pool
from tests.support import erasing
from tests.support.review_world import BACKTEST_COUNTS
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in
from tests.support.running import Running
from trials.jobs.backtest_job import run_backtest
from trials.pure.replay.groups import ReplayState
from trials.pure.trial import Trial
from trials.store.backtests import begin_backtest, examples_with
from trials.store.candidates import Actor, TriedSettings, changed_account
from trials.store.trials import get_trial

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
CHANGE = {"flagged_keywords": ["weekdays"]}
ERASED = "The author's data was erased."


def backtest_of(engine: Running, user_id: str, changes: dict[str, Any] = CHANGE) -> Trial:
    """A finished backtest of the account's decisions of a day."""

    async def run() -> Trial:
        now = datetime.now(UTC) + timedelta(seconds=5)  # the clock of a busy engine may be ahead
        async with create_pool(engine.url, size=2, application="test", role=None) as source:
            tried = TriedSettings(user_id=user_id, base_version=1, changes=changes)
            by = Actor(made_by="kim", now=now)
            begun = await begin_backtest(source, tried, now - timedelta(days=1), by)
            return await run_backtest(source, engine.url, begun, now=lambda: datetime.now(UTC), processes=1)

    return asyncio.run(run())


def stored_backtest(
    engine: Running, user_id: str, decisions: tuple[Any, ...] = (), **columns: Any
) -> tuple[str, UUID]:
    """The address and the id of a backtest with these decisions as examples."""
    now, backtest_id = datetime.now(UTC), uuid7()
    examples = [
        {"decision_id": str(each), "group": "newly_stopped", "before": "REPLIED", "after": "FLAGGED_RULE"}
        for each in decisions
    ]
    values = {"id": backtest_id, "user_id": user_id, "base_version": 1, "changes": Jsonb(CHANGE)}
    values |= {"since": now - timedelta(days=7), "until": now, "plan": Jsonb({"total": 12}), "done": 12}
    values |= {"counts": Jsonb(BACKTEST_COUNTS), "examples": Jsonb(examples), "kind": "backtest"}
    values |= {"state": "finished"} | columns
    names, marks = ", ".join(values), ", ".join(f"%({name})s" for name in values)
    engine.database.execute(f"INSERT INTO trials ({names}) VALUES ({marks})".encode(), values)
    return f"/accounts/{user_id}/learn/trials/{backtest_id}", backtest_id


def seated(engine: Running, visitors: Visitors, role: Role, account: str) -> Visitor:
    """A person with a role on the account."""
    return signed_in(visitors, add_person(engine.url, role, account=account))


def part(page: str, selector: str) -> str:
    """The text of a part of a page, in one line."""
    found = LexborHTMLParser(page).css_first(selector)
    assert found is not None, page
    return " ".join(found.text().split())


def logged(engine: Running, backtest_id: UUID) -> list[tuple[str, int]]:
    """Actions and numbers of decisions in the access log."""
    query = "SELECT action, detail FROM access_log WHERE detail ->> 'backtest' = %s ORDER BY id"
    return [(row["action"], row["detail"]["decisions"]) for row in engine.rows(query, str(backtest_id))]


def test_a_reviewer_reads_counts_and_examples_side_by_side(engine: Running, visitors: Visitors) -> None:
    """From the page Learn: both replies, reasons and why; who read is logged, and nothing is sent."""
    user_id = engine.account(documents=HOURS)
    asked = engine.decide(user_id, QUESTION)
    for text in ("Hello, when are you open on Sunday?", "I will kill you"):
        engine.decide(user_id, text)
    said = {"type": "feedback", "feedback": {"thumb": "down", "about": asked["event_id"]}}
    engine.decide(user_id, "not on all days", conversation_id=asked["conversation_id"], **said)
    reply = engine.rows("SELECT text FROM outbox WHERE user_id = %s ORDER BY created_at", user_id)[0]["text"]
    found = backtest_of(engine, user_id)
    page = f"/accounts/{user_id}/learn/trials/{found.trial_id}"
    before = engine.rows("SELECT id FROM outbox")
    reviewer = seated(engine, visitors, Role.REVIEWER, user_id)
    learn, shown = reviewer.get(f"/accounts/{user_id}/learn").text, reviewer.get(page).text
    examples = LexborHTMLParser(shown).css(".backtest-example")
    (first,) = [each for each in examples if QUESTION in each.text()]
    sides = [" ".join(each.text().split()) for each in first.css(".backtest-sides > div")]
    stopped, unchanged = part(shown, "#group-newly_stopped"), part(shown, "#group-unchanged")

    assert f'href="{page}"' in learn
    assert (found.counts["newly_stopped"], found.counts["newly_stopped.wrong"]) == (1, 1)
    assert stopped == "Newly stoppedGot a reply, and would get none. 1 25 % 0 – 1"
    assert unchanged == "UnchangedThe same reply or none, for the same reason. 3 75 % – – –"
    assert 'id="unfinished"' not in shown
    assert "weekdays" in part(shown, ".change .plus")
    assert "by kim" in part(shown, "main dl.facts")
    assert sides[0] == f"Then {' '.join(reply.split())}Reply sent"
    assert sides[1] == "With the change No replyRule matched the message"
    assert "Why: FLAGGED_RULE (flagged_keyword:weekdays)" in " ".join(first.text().split())
    assert logged(engine, found.trial_id) == [("reveal", len(examples))]
    assert engine.rows("SELECT id FROM outbox") == before


def test_people_without_the_right_see_no_texts(engine: Running, visitors: Visitors) -> None:
    """A viewer sees counts, reasons and a sentence; another account's lead nothing; wrong ids are 404."""
    user_id = engine.account(documents=HOURS)
    other = engine.account()
    decided = engine.decide(user_id, QUESTION)
    page, backtest_id = stored_backtest(engine, user_id, (decided["id"],))
    viewer = seated(engine, visitors, Role.VIEWER, user_id)
    lead = seated(engine, visitors, Role.LEAD, user_id)
    stranger = seated(engine, visitors, Role.LEAD, other)
    seen = viewer.get(page).text
    refused = viewer.post(f"{page}/examples/{decided['id']}").status_code
    moved = page.replace(f"/{user_id}/", f"/{other}/")
    wrong = [page.replace(str(backtest_id), each) for each in (str(uuid7()), "x")]
    missing = [lead.get(each).status_code for each in wrong]
    missing += [stranger.get(each).status_code for each in (page, moved)]
    missing += [lead.post(f"{page}/examples/{each}").status_code for each in (uuid7(), "x")]

    assert "people who may review decisions of this account can read them" in part(seen, "#sealed")
    assert QUESTION not in seen
    assert "nine to six" not in seen
    assert f'href="/decisions/{decided["id"]}"' in seen
    assert "Rule matched the message" in part(seen, ".backtest-example")
    assert part(seen, "#group-newly_stopped").endswith("2 17 % 2 1 (50 %) –")
    assert "1 fewer decision would wait for people." in part(seen, "#waits")
    assert "about 0.0042 USD" in part(seen, "#waits")
    assert "Decided again now" not in seen
    assert (refused, missing) == (403, [404] * 6)
    assert logged(engine, backtest_id) == [("figures", 0)]


def test_an_unfinished_run_says_how_to_continue(engine: Running, visitors: Visitors) -> None:
    """It shows what is counted so far."""
    user_id = engine.account()
    page, _ = stored_backtest(engine, user_id, done=4, counts=Jsonb({"unchanged": 4}), state="running")
    shown = seated(engine, visitors, Role.REVIEWER, user_id).get(page).text

    assert "4 of 12 decisions are counted" in part(shown, "#unfinished")
    assert "run the same command again" in part(shown, "#unfinished")
    assert part(shown, "#group-unchanged").endswith("4 100 % – – –")
    assert "No decision that would end otherwise is counted yet." in shown


def test_what_is_gone_is_said(engine: Running, visitors: Visitors, redis_url: str) -> None:
    """An erased author, a deleted recording, a damaged one, and a decision that is no longer stored."""
    user_id = engine.account(documents=HOURS)
    erased, bare, damaged = (
        engine.decide(user_id, f"{QUESTION} {each}", author_id=f"author-{each}", conversation_id=each)["id"]
        for each in ("erased", "bare", "damaged")
    )
    page, backtest_id = stored_backtest(engine, user_id, (erased, bare, damaged, uuid7()))
    engine.database.execute("DELETE FROM recordings WHERE decision_id = %s", (bare,))
    engine.database.execute("UPDATE recordings SET data = 'oxyz' WHERE decision_id = %s", (damaged,))
    asyncio.run(erasing.erase(engine.url, redis_url, user_id, ErasureKind.AUTHOR, "author-erased"))
    shown = seated(engine, visitors, Role.REVIEWER, user_id).get(page).text
    texts = [" ".join(each.text().split()) for each in LexborHTMLParser(shown).css(".backtest-example")]

    assert f"{QUESTION} erased" not in shown
    assert texts[0].endswith(ERASED)
    assert f"{QUESTION} bare" in texts[1]
    assert "The decision has no recording, or not any more." in texts[1]
    assert f"{QUESTION} damaged" in texts[2]
    assert "Its recording cannot be read." in texts[2]
    assert texts[3].endswith("The decision is no longer stored.")
    assert logged(engine, backtest_id) == [("reveal", 3)]


def test_settings_that_cannot_be_used_leave_the_counts(engine: Running, visitors: Visitors) -> None:
    """A version that is gone, a setting of another release and a broken rule are named; so is the message."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    reviewer = seated(engine, visitors, Role.REVIEWER, user_id)
    for columns, why in (
        ({"base_version": 7}, "Version 7 of the settings"),
        ({"changes": Jsonb({"no_such_setting": 1})}, "no_such_setting"),
        ({"changes": Jsonb({"hold_max_s": -1})}, "hold_max_s"),
        ({"changes": Jsonb({"flagged_keywords": ["/(/"]})}, "rule '/(/'"),
    ):
        shown = reviewer.get(stored_backtest(engine, user_id, (decided["id"],), **columns)[0]).text

        assert why in part(shown, "#unusable")
        assert part(shown, "#group-newly_stopped").endswith("2 17 % 2 1 (50 %) –")
        assert QUESTION in part(shown, ".backtest-example")
        assert "Not decided again." in part(shown, ".backtest-example")


def test_an_example_that_ends_as_it_did_says_so(engine: Running, visitors: Visitors) -> None:
    """The backtest counted it as newly stopped; decided again now, the change does not touch it."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    words = Jsonb({"flagged_keywords": ["casino"]})
    page, _ = stored_backtest(engine, user_id, (decided["id"],), changes=words)
    shown = seated(engine, visitors, Role.REVIEWER, user_id).get(page).text

    assert "it is in the group Unchanged" in part(shown, ".backtest-example")


def test_covered_texts_are_shown_on_request(engine: Running, visitors: Visitors) -> None:
    """Neither message nor replies are in the page before; each reveal is logged with its decision."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    page, backtest_id = stored_backtest(engine, user_id, (decided["id"],))
    person = add_person(engine.url, Role.REVIEWER, account=user_id)
    engine.database.execute("UPDATE people SET covered = '{flagged_rule}' WHERE id = %s", (person.person_id,))
    reviewer = signed_in(visitors, person)
    covered = reviewer.get(page).text
    whole = reviewer.post(f"{page}/examples/{decided['id']}").text
    one = reviewer.client.post(
        f"{page}/examples/{decided['id']}", data={"csrf": reviewer.csrf}, headers={"HX-Request": "true"}
    ).text
    query = "SELECT decision_id FROM access_log WHERE detail ->> 'backtest' = %s ORDER BY id"
    decisions = [row["decision_id"] for row in engine.rows(query, str(backtest_id))]

    assert "Covered:" in part(covered, ".backtest-example")
    assert not any(each in covered for each in (QUESTION, "nine to six", "flagged_keyword:weekdays"))
    assert QUESTION in part(whole, ".backtest-example")
    assert one.lstrip().startswith("<article")
    assert "nine to six" in one
    assert logged(engine, backtest_id) == [("figures", 0), ("reveal", 1), ("reveal", 1)]
    assert decisions == [None, decided["id"], decided["id"]]


def test_a_blind_reader_sees_no_ending(engine: Running, visitors: Visitors) -> None:
    """An example that the person reviews without seeing how it ended is left out, and that is said."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    page, backtest_id = stored_backtest(engine, user_id, (decided["id"],))
    person = add_person(engine.url, Role.REVIEWER, account=user_id)
    until = datetime.now(UTC) + timedelta(hours=1)
    queue: dict[str, Any] = {
        "id": uuid7(),
        "name": f"blind {uuid7()}",
        "person": person.person_id,
        "decision": decided["id"],
    }
    queue |= {"until": until}
    engine.database.execute(
        "INSERT INTO queues (id, name, kind, definition) VALUES (%(id)s, %(name)s, 'hand', '{}')", queue
    )
    engine.database.execute(
        "INSERT INTO queue_items (queue_id, decision_id, user_id, decision_at, assigned_to, claimed_by,"
        " claimed_until) SELECT %(id)s, id, user_id, created_at, %(person)s, %(person)s, %(until)s"
        " FROM ai_decisions WHERE id = %(decision)s",
        queue,
    )
    blind = signed_in(visitors, person)
    shown = blind.get(page).text
    one = blind.post(f"{page}/examples/{decided['id']}").text

    assert "1 example is not shown" in part(shown, "#hidden")
    for seen in (shown, one):
        assert QUESTION not in seen
        assert f"/decisions/{decided['id']}" not in seen
    assert logged(engine, backtest_id) == [("figures", 0), ("figures", 0)]


def test_examples_take_no_longer_than_allowed(engine: Running) -> None:
    """Without time none is made again, and what was stored is there all the same."""
    user_id = engine.account(documents=HOURS)
    decided = engine.decide(user_id, QUESTION)
    _, backtest_id = stored_backtest(engine, user_id, (decided["id"],))

    async def run(most_s: float) -> list[tuple[Any, ...]]:
        async with create_pool(engine.url, size=1, application="test", role=None) as source:
            found = await get_trial(source, backtest_id)
            assert found is not None
            account = await changed_account(source, user_id, 1, CHANGE)
            made = await examples_with(source, user_id, found.examples, account, most_s=most_s)
            return [(each.message, each.state, each.after) for each in made]

    assert asyncio.run(run(0.0)) == [(QUESTION, None, "")]
    assert asyncio.run(run(60.0)) == [(QUESTION, ReplayState.MADE, "FLAGGED_RULE")]
