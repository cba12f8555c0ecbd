"""Erasure: a planted sentinel that went through every path is found nowhere afterwards."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from redis import Redis
from structlog.testing import capture_logs
from typer.testing import CliRunner
from uuid_utils.compat import uuid7

from cli.main import command_line
from cli.stack import Stack
from compliance.audit_log.appending import append_new
from compliance.audit_log.checkpoints import Signer
from compliance.audit_log.verifying import Keys, Verification, verify
from compliance.erasure import receipts
from compliance.erasure.records import ErasureHeld, ErasureKind, hash_subject
from db.audit.decision_list import read_connection
from db.health import conservation
from db.people.records import Role
from db.pool import AUDIT_ROLE, create_pool
from db.webhooks import endpoints
from db.webhooks.endpoints import NewEndpoint
from review.lists.export_layout import Form
from sandbox.server import SandboxHandle
from tasks.publishing.publish import append
from tests.support import erasing
from tests.support.exporting import finished_export
from tests.support.reviewing import Visitor, add_person, signed_in, site
from tests.support.running import Running, eventually, running
from tests.support.webhooks import LOGGED
from worker.webhooks.types import WebhookType

HOURS: Final = {
    "Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]
}
WORD, AUTHOR, PLACE = "zquibble7731", "author-zorblax-4421", "chat-quux-9917"
QUESTION: Final = f"When are you open on weekdays? {WORD}"
FORM: Final = {name: re.compile(rf'name="{name}" value="([^"]*)"') for name in ("answer", "seen", "draft")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """An account with an engine, the review pages and a webhook that nobody receives."""

    engine: Running
    account: str
    visitor: Visitor
    redis_url: str
    events: list[str] = field(default_factory=list)

    def say(self, text: str, **more: Any) -> dict[str, Any]:
        """The decision on a message of the sentinel's author."""
        row = self.engine.decide(self.account, text, **{"author_id": AUTHOR, "conversation_id": PLACE} | more)
        self.events.append(row["event_id"])
        return row


@pytest.fixture(scope="module")
def shop(stack: Stack, database_url: str, sandbox_process: SandboxHandle) -> Iterator[Shop]:
    """One for all tests of this module."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    moderation = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": sandbox_process.base_url}
    sandbox_process.reset()
    with (
        running(database_url, stack.redis_url, sandbox_process, HUSHGATE_WEBHOOK_LOOPBACK="true") as engine,
        site(database_url, **moderation) as visitor,
    ):
        person = signed_in(visitor, add_person(database_url, *Role))
        account = engine.account(
            documents=HOURS,
            flagged_keywords=["forbidden"],
            assessment_policy={"name": "calibrated", "low_action": "escalate"},
        )
        asyncio.run(add_endpoint(database_url, account))
        yield Shop(engine=engine, account=account, visitor=person, redis_url=stack.redis_url)


async def add_endpoint(url: str, account: str) -> None:
    """An endpoint for every type, on a port where nothing listens."""
    new = NewEndpoint(
        user_id=account, url="http://127.0.0.1:9/", description="", types=list(WebhookType), created_by="kim"
    )
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        await endpoints.add_endpoint(people, new, b"k" * 32, datetime.now(UTC), logged=LOGGED)


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the answer's form."""
    found = {name: pattern.search(page) for name, pattern in FORM.items()}
    return {name: match[1] for name, match in found.items() if match}


def plant(shop: Shop) -> None:
    """Send the sentinel through every path."""
    engine, visitor, sandbox = shop.engine, shop.visitor, shop.engine.sandbox
    replied = shop.say(QUESTION)
    shop.say(f"forbidden {WORD}")
    shop.say(f"And on Sunday? {WORD}", scope="comment", conversation_id="thread-shared")
    sandbox.add_rule("chat", "ungrounded")
    escalated = shop.say(f"Are you open on weekdays, please? {WORD}")
    sandbox.reset()
    page = visitor.get(f"/decisions/{escalated['id']}").text
    sent = visitor.post(
        f"/decisions/{escalated['id']}/answer", **fields_of(page), action="edit", text=f"Yes, {WORD}."
    )
    assert sent.status_code in {200, 303}, sent.text
    engine.publish(
        shop.account, f"I took over, {WORD}", type="agent_message", author_id="agent-7", conversation_id=PLACE
    )
    append(engine.redis, [orjson.dumps({"user_id": shop.account, "author_id": AUTHOR, "text": WORD})])
    eventually(lambda: engine.row("SELECT 1 FROM dead_letters"), "the dead letter")
    review(shop, replied)
    visitor.get(f"/decisions?since=all&author={AUTHOR}")
    visitor.get(f"/decisions?since=all&text={WORD}")
    person = add_person(engine.url, *Role)
    finished_export(engine.url, person, Form.NDJSON, author=AUTHOR)
    with psycopg.connect(engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO saved_views (id, person_id, name, query) VALUES (%s, %s, 'mine', %s)",
            (uuid7(), person.person_id, f"author={AUTHOR}"),
        )
        owner.execute(
            "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by, released_at,"
            " released_by) VALUES (%s, %s, 'author', %s, %s, 'kim', now(), 'kim')",
            (uuid7(), shop.account, AUTHOR, f"case of {AUTHOR} in {PLACE}"),
        )
        owner.execute(
            "INSERT INTO appeals (id, decision_id, decision_at, user_id, event_id, conversation_id,"
            " message_id, author_id, scope, source, text, entered_by, created_at, due_at)"
            " SELECT gen_random_uuid(), id, created_at, user_id, event_id, conversation_id, message_id,"
            " author_id, scope, 'api', %s, 'kim', now(), now() FROM ai_decisions WHERE id = %s",
            (f"appeal of {WORD}", replied["id"]),
        )
        owner.execute(
            "WITH made AS (INSERT INTO golden_sets (id, user_id, name, created_by)"
            " VALUES (gen_random_uuid(), %s, 'kept set', 'kim') RETURNING id, user_id)"
            " INSERT INTO golden_set_items (id, set_id, user_id, row_id, source, decision_id,"
            " conversation_id, author_id, expected, labelled_by, content, recorded_at)"
            " SELECT gen_random_uuid(), made.id, user_id, row.*, 'silent', 'kim', '{}', now() FROM made,"
            " (VALUES ('decision', 'decision', %s::uuid, %s, %s), ('imported', 'import', NULL, 'file', %s),"
            " ('same chat', 'import', NULL, %s, 'another'), ('kept row', 'import', NULL, 'file', 'other'))"
            " row",
            (shop.account, replied["id"], PLACE, AUTHOR, AUTHOR, PLACE),
        )
    write_about(shop, replied)
    ask_again(shop)
    delivered = "SELECT 1 FROM outbox WHERE origin = 'person' AND delivered_at IS NOT NULL"
    eventually(lambda: engine.row(delivered), "the answer on the stream")
    tried = "SELECT 1 FROM webhook_deliveries WHERE attempts > 0"
    eventually(lambda: engine.row(tried), "a webhook's attempt")


def write_about(shop: Shop, decision: dict[str, Any]) -> None:
    """Notes, tags and a comment of a reviewer."""
    visitor, accounts = shop.visitor, f"/accounts/{shop.account}"
    for address in (f"{accounts}/authors/{AUTHOR}", f"{accounts}/conversations/{PLACE}"):
        visitor.get(address)
        noted = visitor.post(address, form="note", note=f"asks {WORD}")
        tagged = visitor.post(address, form="tag", tag=WORD)
        assert (noted.status_code, tagged.status_code) == (303, 303)
    commented = visitor.post(f"/decisions/{decision['id']}/comments", comment=f"{AUTHOR} says {WORD}")
    assert commented.status_code == 303


def ask_again(shop: Shop) -> None:
    """A cancelled request whose reason has the id, and open ones for the author and the conversation."""
    url = shop.engine.url
    reason = f"letter of {AUTHOR}, chat {PLACE}"
    ids = [
        asyncio.run(erasing.request(url, shop.account, kind, subject, reason=reason))
        for kind, subject in (
            (ErasureKind.AUTHOR, AUTHOR),
            (ErasureKind.AUTHOR, AUTHOR),
            (ErasureKind.CONVERSATION, PLACE),
        )
    ]
    asyncio.run(erasing.cancel(url, ids[0]))


def review(shop: Shop, decision: dict[str, Any]) -> None:
    """A review whose note quotes the message."""
    values = {"id": uuid7(), "decision": decision["id"], "at": decision["created_at"], "user": shop.account}
    with psycopg.connect(shop.engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling, note,"
            " source) VALUES (%(id)s, %(decision)s, %(at)s, %(user)s, 'kim', 'agree', %(note)s, 'page')",
            values | {"note": f"they asked {WORD}"},
        )
        owner.execute(
            "INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)"
            " VALUES (%(decision)s, %(at)s, %(user)s, 'agree', 1, %(id)s)",
            values,
        )


def balance_of(shop: Shop) -> conservation.Balance:
    """The conservation law over stream and database."""
    info: Any = shop.engine.redis.xinfo_stream("hushgate:events")

    async def load() -> conservation.Balance:
        async with read_connection(shop.engine.url) as connection:
            return await conservation.load_balance(
                connection, accepted=info["entries-added"], unfinished=info["length"]
            )

    return asyncio.run(load())


def counted(shop: Shop) -> list[dict[str, Any]]:
    """What figures are made from: decisions by reason, with their tokens, attempts and reviews."""
    return shop.engine.rows(
        "SELECT d.reason_code, d.decision, count(*),"
        " sum((d.snapshot_json #>> '{tokens,prompt}')::int) AS tokens,"
        " sum(jsonb_array_length(d.snapshot_json -> 'attempts')) AS attempts, count(r.id) AS reviews,"
        " sum(jsonb_array_length(d.snapshot_json -> 'stages')) AS stages, sum(d.confidence) AS confidence"
        " FROM ai_decisions d LEFT JOIN decision_reviews r ON r.decision_id = d.id AND r.ruling = 'agree'"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )


def test_a_planted_sentinel_is_found_nowhere_after_its_author_is_erased(shop: Shop) -> None:
    """In no table and no key of Redis; what others wrote stays, and so do figures and idempotency."""
    engine, words = shop.engine, (WORD, AUTHOR, PLACE)
    plant(shop)
    kept = engine.decide(shop.account, "When are you open?", author_id="other", conversation_id="other-place")
    thread = {"conversation_id": "thread-shared", "scope": "comment"}
    shared = engine.decide(shop.account, "When?", author_id="other", **thread)
    letter = {"user_id": shop.account, "author_id": "other", "text": "kept letter"}
    append(engine.redis, [orjson.dumps(letter)])
    eventually(lambda: len(engine.rows("SELECT 1 FROM dead_letters")) == 2, "the other dead letter")
    log = Signer(name="test", key=Ed25519PrivateKey.generate())
    asyncio.run(logged(engine.url, log))
    before, figures = erasing.places(engine.url, engine.redis, *words), counted(shop)
    found = asyncio.run(erasing.erase(engine.url, shop.redis_url, shop.account, ErasureKind.AUTHOR, AUTHOR))
    after = erasing.places(engine.url, engine.redis, *words)
    again = engine.redis.xlen("hushgate:events")
    engine.publish(shop.account, QUESTION, author_id="ghost", event_id=shop.events[0], conversation_id="new")
    eventually(lambda: engine.row("SELECT 1 FROM duplicates"), "the event that comes again")
    gone = shop.visitor.get(f"/decisions/{decision_of(shop, shop.events[0])}")

    assert {line.partition(":")[0].removeprefix("public.").rstrip("0123456789_") for line in before} >= {
        "ai_decisions", "messages", "quarantine", "held_drafts", "outbox", "answers", "escalations",
        "outgoing_events", "webhook_deliveries", "decision_reviews", "dead_letters", "access_log", "jobs",
        "appeals", "saved_views", "legal_holds", "golden_set_items", "b'hushgate",
    }  # fmt: skip
    assert after == []
    assert engine.rows("SELECT row_id FROM golden_set_items") == [{"row_id": "kept row"}]
    assert engine.row("SELECT 1 FROM job_parts") is None  # packed: the word is not seen in it
    assert found.phase == "finished"
    phases = engine.rows("SELECT phase FROM erasures WHERE user_id = %s ORDER BY requested_at", shop.account)
    assert [row["phase"] for row in phases] == ["cancelled", "cancelled", "cancelled", "finished"]
    assert engine.row("SELECT 1 FROM legal_holds WHERE reason = 'case of ... in ...'")
    assert counted(shop) == figures
    assert again == 0
    assert gone.status_code == 410
    assert "was erased" in gone.text
    assert engine.decided(shop.account, kept["event_id"])["message_text"] == "When are you open?"
    assert engine.row("SELECT 1 FROM messages WHERE decision_id = %s", shared["id"])
    assert engine.row("SELECT 1 FROM dead_letters WHERE position('kept letter'::bytea in raw) > 0")
    assert balance_of(shop).holds
    proven = asyncio.run(logged(engine.url, log))
    assert (proven.problems, proven.emptied > 0, proven.under_way) == ([], True, 0)


async def logged(url: str, signer: Signer) -> Verification:
    """The transparency log with all that is stored now, compared."""
    keys = Keys(log=frozenset({signer.verifier_key()}), receipts=(receipts.public_key(erasing.KEY),))
    async with create_pool(url, size=1, application="test", role=AUDIT_ROLE) as source:
        await append_new(source, signer, datetime.now(UTC))
        return await verify(source, keys, datetime.now(UTC))


def decision_of(shop: Shop, event_id: str) -> Any:
    """The id of an event's decision."""
    row = shop.engine.row("SELECT decision_id FROM event_keys WHERE event_id = %s", event_id)
    assert row is not None
    return row["decision_id"]


def test_what_was_in_flight_is_erased_by_the_second_pass_and_later_messages_are_new(shop: Shop) -> None:
    """The job waits for an event that was published before it started, and leaves later ones."""
    engine, author = shop.engine, "author-in-flight"
    slow = engine.account(documents=HOURS, burst_window_s=2.0)
    early = engine.publish(slow, QUESTION, author_id=author, conversation_id="in-flight-1")
    waiting = asyncio.run(erasing.erase(engine.url, shop.redis_url, slow, ErasureKind.AUTHOR, author))
    late = engine.publish(slow, "Are you there?", author_id=author, conversation_id="in-flight-2")
    engine.decided(slow, early)
    eventually(lambda: ended(shop, waiting.id), "the end of the erasure")
    engine.decided(slow, late)
    stored = engine.rows("SELECT * FROM ai_decisions WHERE user_id = %s", slow)
    rows = {row["event_id"]: row for row in stored}

    assert waiting.phase == "waiting"
    assert rows[early]["author_id"] == rows[early]["message_text"] == ""
    assert (rows[late]["author_id"], rows[late]["message_text"]) == (author, "Are you there?")
    assert erasing.places(engine.url, engine.redis, "in-flight-1") == []
    assert balance_of(shop).holds


def ended(shop: Shop, erasure_id: Any) -> bool:
    """Whether an erasure has ended, after another turn of the worker's task."""
    asyncio.run(erasing.advance(shop.engine.url, shop.redis_url))
    return asyncio.run(erasing.load(shop.engine.url, erasure_id)).phase == "finished"


@pytest.mark.parametrize("kind", ["decision", "conversation", "author"])
def test_an_erasure_spares_what_is_held(shop: Shop, kind: str) -> None:
    """A hold on the author or the conversation too, when the erasure is about something larger."""
    engine, account = shop.engine, shop.engine.account(documents=HOURS)
    names = {"author_id": f"kept-{kind}", "conversation_id": f"place-{kind}"}
    held = engine.decide(account, QUESTION, **names)
    free = engine.decide(account, QUESTION, author_id=f"gone-{kind}", conversation_id=f"gone-{kind}")
    subject = {"decision": str(held["id"]), "conversation": f"place-{kind}", "author": f"kept-{kind}"}[kind]
    with psycopg.connect(engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)"
            " VALUES (%s, %s, %s, %s, 'a case', 'kim')", (uuid7(), account, kind, subject)
        )  # fmt: skip
    eventually(lambda: engine.reply(account, held["event_id"]), "the reply")
    found = asyncio.run(erasing.erase(engine.url, shop.redis_url, account, ErasureKind.ACCOUNT, account))
    texts = engine.rows("SELECT message_text FROM ai_decisions WHERE id IN (%s, %s)", held["id"], free["id"])

    assert found.receipt is not None
    assert found.receipt["decisions_under_legal_hold"] == 1
    assert sorted(row["message_text"] for row in texts) == ["", QUESTION]
    assert engine.row("SELECT 1 FROM messages WHERE decision_id = %s", held["id"])
    assert engine.row("SELECT 1 FROM outbox WHERE decision_id = %s", held["id"])
    assert engine.reply(account, held["event_id"]) is not None
    assert engine.reply(account, free["event_id"]) is None


def test_an_erasure_of_what_is_held_is_refused(shop: Shop) -> None:
    """Exactly this author is under a hold."""
    with psycopg.connect(shop.engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by)"
            " VALUES (%s, %s, 'author', 'accused', 'a case', 'kim')", (uuid7(), shop.account)
        )  # fmt: skip
    with pytest.raises(ErasureHeld):
        asyncio.run(erasing.request(shop.engine.url, shop.account, ErasureKind.AUTHOR, "accused"))


def test_a_conversation_and_an_account_go_as_a_whole(shop: Shop) -> None:
    """All its authors; of an account also its documents and webhooks, while its settings stay."""
    engine, account = shop.engine, shop.engine.account(documents=HOURS)
    asyncio.run(add_endpoint(engine.url, account))
    for author in ("first-writer", "second-writer"):
        engine.decide(account, QUESTION, author_id=author, conversation_id="whole-place")
    other = engine.decide(account, QUESTION, author_id="third-writer", conversation_id="other")
    one = asyncio.run(
        erasing.erase(engine.url, shop.redis_url, account, ErasureKind.CONVERSATION, "whole-place")
    )
    between = erasing.places(engine.url, engine.redis, "first-writer", "second-writer", "whole-place")
    kept = engine.row("SELECT author_id FROM ai_decisions WHERE id = %s", other["id"])
    whole = asyncio.run(erasing.erase(engine.url, shop.redis_url, account, ErasureKind.ACCOUNT, account))
    counts = {
        table: len(engine.rows(f"SELECT 1 FROM {table} WHERE user_id = %s", account))
        for table in (
            "documents",
            "document_files",
            "chunks",
            "account_words",
            "webhook_endpoints",
            "messages",
            "ai_rules",
        )
    }

    assert one.erased["ai_decisions"] == 2
    assert between == []
    assert kept == {"author_id": "third-writer"}
    assert whole.erased["ai_decisions"] == 1
    assert erasing.places(engine.url, engine.redis, "third-writer") == []
    assert counts == dict.fromkeys(counts, 0) | {"ai_rules": 1}
    assert balance_of(shop).holds


def test_an_interrupted_erasure_is_continued_and_its_counts_are_those_of_the_preview(shop: Shop) -> None:
    """Every step ends in an exception once; the counts of rows are exactly those that were shown before."""
    engine, account = shop.engine, shop.engine.account(documents=HOURS)
    for number in range(3):
        engine.decide(account, QUESTION, author_id="resumed", conversation_id=f"resumed-{number}")
    eventually(lambda: len(engine.rows("SELECT 1 FROM outbox WHERE user_id = %s AND delivered_at IS NOT NULL",
                                       account)) == 3, "three replies")  # fmt: skip
    erasure_id = asyncio.run(erasing.request(engine.url, account, ErasureKind.AUTHOR, "resumed"))
    asyncio.run(erasing.advance(engine.url, shop.redis_url))
    preview = asyncio.run(erasing.confirm(engine.url, erasure_id)).preview
    calls = 0
    while asyncio.run(erasing.load(engine.url, erasure_id)).phase != "finished":
        calls += 1
        with contextlib.suppress(erasing.Interrupted):
            asyncio.run(erasing.advance_one_step(engine.url, shop.redis_url))
    found = asyncio.run(erasing.load(engine.url, erasure_id))

    assert preview is not None
    assert calls > 8
    for table in ("ai_decisions", "messages", "outbox", "hushgate:replies"):
        assert found.erased[table] == preview[table] == (6 if table == "messages" else 3), table
    assert (found.subject, found.phase) == (None, "finished")


def test_a_receipt_proves_what_was_erased_and_shows_any_change(shop: Shop) -> None:
    """Its signature, the id that was erased, and one that was made before a key was configured."""
    engine, account = shop.engine, shop.engine.account()
    erasure_id = asyncio.run(erasing.request(engine.url, account, ErasureKind.AUTHOR, "nobody"))
    asyncio.run(erasing.advance(engine.url, shop.redis_url, key=None))
    asyncio.run(erasing.confirm(engine.url, erasure_id))
    asyncio.run(erasing.advance(engine.url, shop.redis_url, key=None))
    unsigned = asyncio.run(erasing.load(engine.url, erasure_id))
    asyncio.run(erasing.advance(engine.url, shop.redis_url))
    found = asyncio.run(erasing.load(engine.url, erasure_id))
    public = [receipts.public_key(b"x" * 32), receipts.public_key(erasing.KEY)]

    assert unsigned.receipt is not None
    assert unsigned.signature is None
    assert found.receipt == unsigned.receipt
    assert found.signature is not None
    assert receipts.is_signed_by(found.receipt, found.signature, public)
    assert not receipts.is_signed_by(found.receipt, found.signature, public[:1])
    for name in found.receipt:
        changed = {**found.receipt, name: "changed"}
        assert not receipts.is_signed_by(changed, found.signature, public), name
    salt = bytes.fromhex(found.receipt["subject_salt"])
    assert found.receipt["subject_sha256"] == hash_subject(salt, "nobody")
    assert "nobody" not in str(found.receipt)


def test_a_hold_is_on_something(shop: Shop) -> None:
    """A decision of the account, whose id is stored as rows have it; and it says how many it covers."""
    engine, account = shop.engine, shop.engine.account(documents=HOURS)
    held = engine.decide(account, QUESTION, author_id="on-hold", conversation_id="on-hold")
    subjects = {"decision": f" {str(held['id']).upper()} ", "author": "on-hold ", "conversation": "none-yet"}

    def place(kind: str, subject: str, *more: str) -> Any:
        words = ["holds", "place", account, kind, subject, "--reason", "a case", *more]
        command = command_line(words[:1])
        return CliRunner().invoke(command, words, env={"DATABASE_URL": engine.url})

    placed = [orjson.loads(place(kind, subject).stdout) for kind, subject in subjects.items()]
    wrong = [place("decision", "a-17"), place("decision", str(uuid7())), place("author", "  ")]
    wrong.append(place("author", "on-hold", "--until", "30d"))  # an age
    form = {"form": "hold", "kind": "decision", "reason": "a case"}
    page = shop.visitor.post(f"/accounts/{account}/holds", **form, subject=str(uuid7()))

    assert [each["subject"] for each in placed] == [str(held["id"]), "on-hold", "none-yet"]
    assert [each["decisions"] for each in placed] == [1, 1, 0]
    assert [each.exit_code for each in wrong] == [2, 2, 2, 2]
    assert page.status_code == 422
    assert f"expected the id of a decision of {account}" in page.text


def test_the_commands_count_erase_and_verify(shop: Shop, tmp_path: Path) -> None:
    """From the request to a receipt that is valid, and one that was changed."""
    engine, account = shop.engine, shop.engine.account(documents=HOURS)
    engine.decide(account, QUESTION, author_id="by-command", conversation_id="by-command")
    key = base64.b64encode(erasing.KEY).decode()
    variables = {"DATABASE_URL": engine.url, "REDIS_URL": shop.redis_url, "HUSHGATE_SIGNING_KEY": key}

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        result = CliRunner().invoke(command_line(words[:1]), list(words), env=variables)
        lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
        return result.exit_code, orjson.loads(lines[-1]) if lines else {}

    _, hold = run("holds", "place", account, "author", "by-command", "--reason", "a case")
    refused, _ = run("erasure", "request", account, "author", "by-command", "--reason", "a letter")
    run("holds", "release", hold["id"])
    _, counted = run("erasure", "request", account, "author", "by-command", "--reason", "a letter")
    with capture_logs() as logs:
        _, erased = run("erasure", "confirm", counted["id"])
    _, receipt = run("erasure", "receipt", counted["id"])
    file = tmp_path / "receipt.json"
    file.write_bytes(orjson.dumps(receipt))
    valid, _ = run("erasure", "verify", str(file), "--subject", "by-command")
    other, _ = run("erasure", "verify", str(file), "--subject", "another")
    receipt["receipt"]["erased"]["messages"] = 99
    file.write_bytes(orjson.dumps(receipt))
    changed, _ = run("erasure", "verify", str(file))
    shown, _ = run("retention", "show")
    dry, _ = run("retention", "run", "--dry-run")

    assert (refused, valid, other, changed, shown, dry) == (1, 0, 1, 1, 0, 0)
    assert [each["event"] for each in logs] == ["erasure_finished"]  # the command prints each phase itself
    assert (counted["phase"], erased["phase"]) == ("previewed", "finished")
    assert counted["preview"]["ai_decisions"] == erased["erased"]["ai_decisions"] == 1
