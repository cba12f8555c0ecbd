"""``POST /v1/checks``: what is answered, what is stored of it, and what is refused with nothing stored."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest
from httpx2 import Response
from psycopg.rows import DictRow
from redis import Redis
from starlette.testclient import TestClient

from cli.stack import Stack
from db.health.conservation import load_balance
from db.people.api_tokens import TokenScope
from db.people.records import Role
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tasks.process.garbage import COLLECT_AFTER
from tests.support.publishing import checking_gateway, gateway_at, token
from tests.support.reviewing import Visitors, person_at
from tests.support.running import OPEN, eventually, running, settings_of, store_account
from tests.support.seeding import seed_document
from tests.support.statements_sent import sent_statements
from trials.store.recordings import load_decisions
from trials.store.replayed_answers import is_released
from trials.store.replaying import Replayer
from worker.account_settings import changed
from worker.model import Account

HOURS = "We are open from nine to six on weekdays."
ASKED = "When are you open?"
PASSAGES = [{"id": "hours", "title": "Opening hours", "text": HOURS}]
NUMBERS = count(1)
STORED = """
    SELECT (SELECT count(*) FROM ai_decisions) AS decisions, (SELECT count(*) FROM checks) AS checks,
        (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM outbox) AS replies,
        (SELECT count(*) FROM escalations) AS escalations, (SELECT count(*) FROM conversations) AS taken,
        (SELECT count(*) FROM event_keys) AS events, (SELECT count(*) FROM duplicates) AS duplicates
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program with its own bot."""

    client: TestClient
    key: str
    url: str
    owner: psycopg.Connection[DictRow]

    def account(self, **settings: Any) -> str:
        """A new account that answers everywhere unless ``settings`` say otherwise."""
        user_id = f"shop-{next(NUMBERS)}"
        asyncio.run(
            store_account(self.url, changed(Account(user_id=user_id, version=0), {**OPEN, **settings}))
        )
        return user_id

    def post(self, body: Any, key: str = "", **headers: str) -> Response:
        """Ask for a check."""
        sent = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"} | headers
        content = body if isinstance(body, bytes) else json.dumps(body)
        return self.client.post("/v1/checks", content=content, headers=sent)

    def verdict(self, user_id: str, **asked: Any) -> dict[str, Any]:
        """The verdict of a check."""
        answer = self.post({"user_id": user_id, **asked})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def stored(self) -> dict[str, Any]:
        """How many rows each table has."""
        row = self.owner.execute(STORED).fetchone()
        assert row is not None
        return dict(row)

    def decision(self, verdict: dict[str, Any]) -> dict[str, Any]:
        """The audit row of a verdict."""
        row = self.owner.execute(
            "SELECT * FROM ai_decisions WHERE id = %s", (verdict["decision_id"],)
        ).fetchone()
        assert row is not None
        return dict(row)


@pytest.fixture(scope="module")
def gateway(database_url: str, stack: Stack, sandbox_process: SandboxHandle) -> Iterator[TestClient]:
    """A gateway that makes checks."""
    worker = settings_of(database_url, stack.redis_url, sandbox_process)
    with checking_gateway(worker) as client:
        yield client


@pytest.fixture(scope="module")
def key(database_url: str) -> str:
    """An API token that may have texts of every account checked."""
    return token(database_url, TokenScope.CHECK)


@pytest.fixture
def program(
    gateway: TestClient,
    key: str,
    database_url: str,
    owner: psycopg.Connection[DictRow],
    sandbox: SandboxHandle,  # without the faults of the test before
) -> Program:
    """A program that may have texts checked."""
    return Program(client=gateway, key=key, url=database_url, owner=owner)


def test_a_check_is_one_decision_with_its_verdict_and_nothing_else(program: Program) -> None:
    """No history, no reply, no escalation and no owner; the draft that is held waits for a person."""
    user_id, before = program.account(), program.stored()
    asked = {"message": ASKED, "conversation_id": "c1", "message_id": "m1", "author_id": "ann"}
    good = program.verdict(user_id, **asked, draft=HOURS, passages=PASSAGES)
    bad = program.verdict(user_id, **asked, draft="We open at ten on Sundays.", passages=PASSAGES)
    row = program.decision(bad)
    held = program.owner.execute("SELECT decision_id::text AS id FROM held_drafts").fetchall()

    assert (good["verdict"], good["text"], bad["verdict"], bad["text"]) == ("allow", HOURS, "hold", None)
    assert good["sentences"][0]["quotes"][0]["passage_id"] == "hours"
    assert program.stored() == before | {
        "decisions": before["decisions"] + 2,
        "checks": before["checks"] + 2,
    }
    assert (row["decision"], row["reason_code"]) == ("escalate", "LOW_CONFIDENCE_ESCALATED")
    assert (row["message_text"], row["author_id"], row["event_id"]) == (ASKED, "ann", bad["id"])
    assert row["snapshot_json"]["type"] == "check"
    assert row["snapshot_json"]["checked"] == {"verdict": "hold", "would": None, "failed_open": False}
    assert {"id": bad["decision_id"]} in held


def test_a_repeated_check_gets_the_stored_verdict(program: Program, sandbox: SandboxHandle) -> None:
    """Also when it would be decided otherwise by now; other content under the same id is refused."""
    user_id = program.account()
    body = {"user_id": user_id, "id": "k1", "message": ASKED, "draft": HOURS, "passages": PASSAGES}
    first, before = program.post(body), program.stored()
    sandbox.add_rule("moderations", "500")
    again, other = program.post(body), program.post(body | {"draft": "At ten."})
    elsewhere = program.post(body | {"user_id": program.account()})

    assert first.status_code == 200
    assert again.json() == first.json()
    assert other.status_code == 409
    assert other.json()["errors"][0]["field"] == "id"
    assert elsewhere.json()["decision_id"] != first.json()["decision_id"]
    assert program.stored()["decisions"] == before["decisions"] + 1


def test_an_erased_check_keeps_its_id_and_no_text(program: Program) -> None:
    """The same request needs a new id then."""
    user_id = program.account()
    body = {"id": "gone", "message": ASKED, "draft": HOURS, "author_id": "ann", "conversation_id": "c1"}
    made = program.verdict(user_id, **body)
    erase = "SELECT hushgate_erase_copies(%s, ARRAY[%s::uuid], ARRAY['c1'])"
    program.owner.execute(erase, (user_id, made["decision_id"]))
    row = program.owner.execute(
        "SELECT verdict, author_id, conversation_id FROM checks WHERE user_id = %s", (user_id,)
    ).fetchone()
    answer = program.post({"user_id": user_id, **body})

    assert row == {"verdict": None, "author_id": "", "conversation_id": ""}
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["got"] == "the id of a check that was erased"


def test_repeated_at_the_same_time_a_check_is_stored_once(program: Program) -> None:
    """Every request gets the same verdict."""
    body = {"user_id": program.account(), "id": "same", "message": ASKED}
    answer = program.post([body] * 8)
    found = {each["verdict"]["decision_id"] for each in answer.json()["results"]}

    assert answer.status_code == 200
    assert len(found) == 1


def test_people_who_own_the_conversation_hold_every_check(program: Program) -> None:
    """Other conversations of the account stay with the AI."""
    user_id = program.account()
    program.owner.execute(
        "INSERT INTO conversations VALUES (%s, 'c1', now() + interval '1 hour', now(), 'ann', 'command', 1)",
        (user_id,),
    )
    found = [
        program.verdict(user_id, message=ASKED, draft=HOURS, conversation_id=each) for each in ("c1", "c2")
    ]

    assert [(each["verdict"], each["reason_code"]) for each in found] == [
        ("hold", "OWNED_BY_PEOPLE"),
        ("allow", "DRAFT_CHECKED"),
    ]


def test_the_documents_of_the_account_are_searched_on_request(program: Program, database_url: str) -> None:
    """The quote names the document's passage."""
    user_id = program.account()
    seed_document(database_url, user_id, "Hours", [HOURS])
    found = program.verdict(user_id, message=ASKED, draft=HOURS, search=True)

    assert (found["verdict"], found["reason_code"]) == ("allow", "REPLIED")
    assert "#" in found["sentences"][0]["quotes"][0]["passage_id"]


def test_reviewers_find_a_check_with_its_verdict_and_its_text(program: Program, visitors: Visitors) -> None:
    """On its page, in lists and exports by the filter of the source; a draft of markup stays text."""
    user_id, draft = program.account(), "<script>alert(1)</script> We are open."
    sent = program.verdict(user_id, message=ASKED, draft=draft)
    kept = program.verdict(user_id, message=ASKED, draft="On Sundays.", passages=PASSAGES, shadow=True)
    visitor, _ = person_at(visitors, program.url, Role.REVIEWER, account=user_id)
    late = program.post({"user_id": user_id, "message": ASKED}, **{"Hushgate-Deadline-Ms": "1"}).json()
    pages = [visitor.get(f"/decisions/{each['decision_id']}").text for each in (sent, kept, late)]
    listed = {
        source: visitor.get(f"/api/v1/decisions?account={user_id}&source={source}").json()["decisions"]
        for source in ("check", "stream")
    }

    assert "<script>alert(1)" not in pages[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; We are open." in pages[0]
    assert "Nothing was sent." not in pages[0]
    assert "no longer chosen" not in pages[0]
    assert "within the deadline that the program gave" in pages[2]
    assert "Without shadow mode: <strong>hold</strong>" in pages[1]
    assert {each["id"] for each in listed["check"]} == {each["decision_id"] for each in (sent, kept, late)}
    assert listed["stream"] == []


def test_recorded_checks_are_tried_with_changed_settings(program: Program) -> None:
    """A rule that only the draft matches stops it; what a replay would release is never sent."""
    user_id = program.account()
    asked = {"message": ASKED, "passages": PASSAGES}
    sent = [program.verdict(user_id, **asked, draft=each) for each in (HOURS, "At ten on Sundays.")]
    sent.append(program.verdict(user_id, **asked, draft="At nine on Sundays.", shadow=True))
    ids = [UUID(each["decision_id"]) for each in sent]

    async def tried() -> tuple[list[str], list[str], list[bool]]:
        async with create_pool(program.url, size=2, application="test", role=None) as source:
            stored = await load_decisions(source, ids)
            same = [await Replayer(source=source).replay(each) for each in stored]
            changes = {"flagged_keywords": ["weekdays"]}
            ruled = [(await Replayer(source=source, changes=changes).group_of(each))[0] for each in stored]
            off = {"assessment_policy": {"enabled": False}}
            made = [await Replayer(source=source, changes=off).replay(each) for each in stored]
        return [each.group for each in same], ruled, [is_released(each) for each in made]

    same, ruled, released = asyncio.run(tried())

    assert same == ["unchanged"] * 3
    assert ruled == ["newly_stopped", "unchanged", "unchanged"]
    assert released == [False] * 3


@pytest.mark.parametrize("opens", [False, True])
def test_a_check_that_cannot_be_made_fails_closed_unless_the_token_says_otherwise(
    program: Program, sandbox: SandboxHandle, *, opens: bool
) -> None:
    """The access log and the row say what passed without a check."""
    user_id = program.account()
    key = token(program.url, TokenScope.CHECK, fail_open=opens)
    sandbox.set_latency(moderations=2.0)
    answer = program.post(
        {"user_id": user_id, "message": ASKED, "draft": HOURS}, key, **{"Hushgate-Deadline-Ms": "80"}
    )
    found = answer.json()
    logged = program.owner.execute(
        "SELECT decision_id::text AS id FROM access_log WHERE action = 'failed_open' AND user_id = %s",
        (user_id,),
    ).fetchall()

    assert (found["reason_code"], found["degraded"]) == ("TOO_LATE", True)
    assert (found["verdict"], found["would"]) == (("allow", "hold") if opens else ("hold", None))
    assert found["failed_open"] is opens
    assert logged == ([{"id": found["decision_id"]}] if opens else [])
    assert program.decision(found)["snapshot_json"]["checked"]["failed_open"] is opens


@pytest.mark.parametrize(
    ("asked", "verdict", "matched"),
    [
        ({"message": "a grenade"}, "block", "flagged_keyword:grenade"),
        ({"message": ASKED, "draft": "Buy a grenade.", "search": True}, "block", "flagged_keyword:grenade"),
        (
            {"message": ASKED, "draft": f"{HOURS} evil.com", "passages": PASSAGES},
            "hold",
            "reply_content:link",
        ),
        ({"message": ASKED, "draft": HOURS, "passages": PASSAGES}, "allow", None),
    ],
)
def test_no_deadline_lets_a_text_pass_that_rules_flag(
    program: Program, sandbox: SandboxHandle, asked: dict[str, Any], verdict: str, matched: str | None
) -> None:
    """One millisecond with a token that lets texts pass: only what no rule flags passes."""
    user_id = program.account(flagged_keywords=["grenade"], rules_on_reply=True)
    key = token(program.url, TokenScope.CHECK, fail_open=True)
    sandbox.set_latency(moderations=2.0)
    found = program.post({"user_id": user_id, **asked}, key, **{"Hushgate-Deadline-Ms": "1"}).json()

    assert (found["verdict"], found["matched_rule"]) == (verdict, matched)
    assert found["failed_open"] is (verdict == "allow")


@pytest.mark.parametrize(("more", "most"), [({}, 2), ({"id": "t1"}, 3), ({"conversation_id": "talk"}, 3)])
def test_a_check_needs_few_round_trips(program: Program, more: dict[str, str], most: int) -> None:
    """Token and owner are read together; of a check without an id of the program nothing can be stored."""
    user_id = program.account()
    program.verdict(user_id, message=ASKED)  # loads the account and notes the use of the token
    with sent_statements() as sent:
        program.verdict(user_id, message=ASKED, draft=HOURS, **more)

    of_check = [each for each in sent if "api_tokens" in each or "checks" in each]
    assert len(of_check) == most, "\n\n".join(of_check)


def test_a_gateway_with_checks_looks_for_garbage_as_rarely_as_a_worker(
    database_url: str, stack: Stack, sandbox: SandboxHandle, key: str
) -> None:
    """The collector's own thresholds cost a part of each check."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        with checking_gateway(settings_of(database_url, stack.redis_url, sandbox)) as client:
            sent = {"Authorization": f"Bearer {key}"}
            answer = client.post("/v1/checks", json={"user_id": "acme", "message": ASKED}, headers=sent)
            found = gc.get_threshold()
    finally:
        gc.set_threshold(*before)

    assert answer.status_code == 200
    assert found == COLLECT_AFTER


def test_invisible_characters_hide_no_link_and_do_not_go_out(program: Program) -> None:
    """A draft is cleaned as a model's is; the text of the verdict is the cleaned draft."""
    user_id = program.account()
    clean = program.verdict(user_id, draft="We are o\u200bpen.")
    link = program.verdict(user_id, draft="Pay at evil\u200b.com please.")

    assert (clean["verdict"], clean["text"]) == ("allow", "We are open.")
    assert (link["verdict"], link["matched_rule"]) == ("hold", "reply_content:link")


def test_rules_read_what_is_counted_of_the_author_that_a_check_names(program: Program) -> None:
    """Checks without an author have no strikes in common."""
    user_id = program.account(flagged_keywords=["{author.strikes >= 1}", "grenade"])
    named = [program.verdict(user_id, message=text, author_id="ann") for text in ("A grenade.", "Hello")]
    unnamed = [program.verdict(user_id, message=text) for text in ("A grenade.", "Hello")]

    assert [each["verdict"] for each in named] == ["block", "block"]
    assert named[1]["matched_rule"].startswith("flagged_author:")
    assert [each["verdict"] for each in unnamed] == ["block", "allow"]


def test_shadow_mode_allows_and_stores_the_true_verdict(program: Program) -> None:
    """In the answer it is ``would``."""
    found = program.verdict(
        program.account(flagged_keywords=["lawyer"]), message="my lawyer", draft=HOURS, shadow=True
    )

    assert (found["verdict"], found["would"], found["text"]) == ("allow", "block", HOURS)
    assert program.decision(found)["snapshot_json"]["checked"]["would"] == "block"


def test_a_flagged_exchange_is_sealed(program: Program) -> None:
    """Message and draft are in the quarantine, not in the verdict."""
    found = program.verdict(
        program.account(flagged_keywords=["lawyer"]), message="my lawyer", draft="Call him."
    )
    sealed = program.owner.execute(
        "SELECT role, text FROM quarantine WHERE decision_id = %s ORDER BY place", (found["decision_id"],)
    ).fetchall()

    assert (found["verdict"], found["text"]) == ("block", None)
    assert [(each["role"], each["text"]) for each in sealed] == [
        ("user", "my lawyer"),
        ("assistant", "Call him."),
    ]


def test_each_check_of_an_array_has_its_own_result(program: Program, database_url: str) -> None:
    """In the order of the array; a check without a verdict says why and stops no other."""
    user_id, before = program.account(), program.stored()
    key = token(database_url, TokenScope.CHECK, role=Role.ACCOUNT_ADMIN, account=user_id)
    answer = program.post(
        [
            {"user_id": user_id, "message": ASKED},
            {"user_id": user_id},
            {"user_id": "another-shop", "message": ASKED},
            {"user_id": user_id, "draft": HOURS},
        ],
        key,
    )
    results = answer.json()["results"]

    assert answer.status_code == 207
    assert [each["status"] for each in results] == [200, 422, 403, 200]
    assert [each["errors"][0]["field"] for each in results[1:3]] == ["data", "user_id"]
    assert results[1]["errors"][0]["item"] == 1
    assert program.stored()["decisions"] == before["decisions"] + 2


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"draft": "x" * 1_000_000}, 422, ("draft", "at most 20000 characters", "1000000 characters")),
        (
            {"draft": "x", "passages": [{"text": "x"}] * 10_000},
            422,
            ("passages", "at most 100 items", "10000"),
        ),
        ({"draft": "x", "passages": [{"title": "x"}]}, 422, ("passages.0.text", "a value", "nothing")),
        ({"draft": "x", "passages": [{"text": ""}]}, 422, ("passages.0.text", "at least 1 character", '""')),
        (
            {"draft": "x", "passages": [{"text": "x", "score": 7}]},
            422,
            ("passages.0.score", "equal to 1", "7"),
        ),
        ({"draft": "x", "pasages": []}, 422, ("pasages", "no such field", "one")),
        ({"draft": 7}, 422, ("draft", "a valid string", "7")),
        ({"draft": ""}, 422, ("draft", "at least 1 character", '""')),
        ({"message": ""}, 422, ("data", "a message, a draft or both", "nothing")),
        ({"message": "a\0b"}, 422, ("message", "text without U+0000", "a")),
        ({"message": "x", "user_id": "*"}, 422, ("user_id", "printable", "*")),
        (
            {"message": "x", "history": [{"role": "bot", "text": "x"}]},
            422,
            ("history.0.role", "'user'", "bot"),
        ),
        ({"message": "x", "metadata": {"a": 1e400}}, 422, ("metadata.a", "a number of 64 bits", "another")),
        (
            {"message": "x", "metadata": {"a": "b" * 262_144}},
            422,
            ("metadata", "at most 262144 bytes", "bbb"),
        ),
        ({"message": "x", "language": "englisch?"}, 422, ("language", "a BCP 47 tag", "englisch?")),
        ({"message": "x", "draft": "y" * 5_000_000}, 413, None),
        ([{"message": "x"}] * 51, 413, None),
        (b"[" + b"1," * 51 + b"unread", 413, None),
        ([], 422, ("data", "at least one", "none")),
        (b"{", 422, ("data", "one JSON object", "no JSON")),
        (b"[" * 100_000, 422, ("data", "levels of nesting", "more")),
        (b"7", 422, ("data", "one JSON object", "a JSON number")),
    ],
)
def test_what_cannot_be_checked_is_refused_and_nothing_is_stored(
    program: Program, body: Any, status: int, error: tuple[str, str, str] | None
) -> None:
    """The first error names the field, what was expected and what came."""
    before = program.stored()
    answer = program.post({"user_id": "acme", **body} if isinstance(body, dict) else body)

    assert answer.status_code == status, answer.text[:300]
    assert answer.json()["status"] == status
    assert "ublish" not in answer.json()["detail"]
    if error is not None:
        first, (field, expected, got) = answer.json()["errors"][0], error
        assert first["field"] == field
        assert expected in first["expected"]
        assert got in first["got"]
    assert len(answer.text) < 3_000
    assert program.stored() == before


@pytest.mark.parametrize("sent", ["application/x-ndjson", "text/plain", "application/cloudevents+json"])
def test_checks_are_json(program: Program, sent: str) -> None:
    """The refusal names the only media type of checks."""
    answer = program.post({"user_id": "acme", "message": ASKED}, **{"Content-Type": sent})

    assert answer.status_code == 415
    assert answer.json()["detail"] == f"Content-Type: expected application/json, got {sent!r}."


@pytest.mark.parametrize("given", ["0", "-5", "1e3", "121000", "soon", ""])
def test_a_wrong_deadline_is_named(program: Program, given: str) -> None:
    """Nothing is checked."""
    answer = program.post({"user_id": "acme", "message": ASKED}, **{"Hushgate-Deadline-Ms": given})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Hushgate-Deadline-Ms"


@pytest.mark.parametrize("scope", [each for each in TokenScope if each is not TokenScope.CHECK])
def test_only_the_scope_of_checks_checks(program: Program, scope: TokenScope) -> None:
    """Publishing needs its own scope too."""
    answer = program.post({"user_id": "acme", "message": ASKED}, token(program.url, scope))

    assert answer.status_code == 403
    assert "check" in answer.json()["detail"]


def test_a_checked_message_is_still_answered_as_an_event(
    program: Program, database_url: str, redis_url: str, sandbox: SandboxHandle, visitors: Visitors
) -> None:
    """The ids of both are apart and the list finds both by it; every entry of the stream is accounted for."""
    user_id = program.account()
    ids = {"conversation_id": "c9", "message_id": "m9", "author_id": "ann"}
    program.verdict(user_id, id="e9", message=ASKED, **ids)
    query = "SELECT reason_code FROM ai_decisions WHERE user_id = %s AND snapshot_json ->> 'type' = 'message'"
    with running(database_url, redis_url, sandbox) as engine:
        engine.publish(user_id, ASKED, event_id="e9", **ids)
        decided = eventually(lambda: engine.row(query, user_id), "the decision on the event")
    visitor, _ = person_at(visitors, program.url, Role.REVIEWER, account=user_id)
    listed = visitor.get(f"/api/v1/decisions?account={user_id}&event=e9").json()["decisions"]

    assert len(listed) == 2

    assert decided["reason_code"] != "MESSAGE_REPEATED"
    assert asyncio.run(_holds(database_url))


async def _holds(url: str) -> bool:
    async with (
        create_pool(url, size=1, application="test", role=None) as pool,
        pool.connection() as connection,
    ):
        balance = await load_balance(connection, accepted=1, unfinished=0)
    return balance.holds


def test_a_gateway_without_models_publishes_and_makes_no_checks(
    database_url: str, key: str, valkey: Redis, redis_url: str, sandbox: SandboxHandle
) -> None:
    """503 says why, and nothing is stored."""
    settings = settings_of(database_url, redis_url, sandbox, HUSHGATE_MODEL_URL="", HUSHGATE_MODEL_KEY="")
    answers = []
    for gateway in (gateway_at(database_url, redis_url), checking_gateway(settings)):
        with gateway as client:
            sent = {"Authorization": f"Bearer {key}"}
            answers.append(client.post("/v1/checks", json={"user_id": "a", "message": "x"}, headers=sent))
            ready = client.get("/readyz").status_code

    assert [each.status_code for each in answers] == [503, 503]
    assert ready == 200
    assert "makes no checks" in answers[0].json()["detail"]
    assert "No model servers are connected" in answers[1].json()["detail"]
    assert valkey.ping()
