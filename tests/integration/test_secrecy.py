"""A word planted in all that a user, a document or a model can say is in no log line and no error report.

One real worker process lives through good and bad days; each test then looks at what it left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
import pytest
from celery import Celery
from redis import Redis

from cli.stack import Stack
from db.documents.storage import add_text_document
from db.pool import create_pool
from sandbox.server import SandboxHandle
from sandbox.server import start as start_sandbox
from tasks.publishing.publish import append, publish_many
from tests.support.http_server import EMPTY, http_server

ROOT: Final = Path(__file__).resolve().parents[2]
WORD: Final = "zqxplanted"
VISIBLE: Final = "zqxvisible"
"""Stands in an event id, which is logged on purpose: the search below must find it."""

DATABASE_PASSWORD: Final = "zqxdbpass$1"
MODERATION_KEY: Final = "zqxmoderationkey"
MODEL_KEY: Final = "zqxmodelkey"
SECRETS: Final = (DATABASE_PASSWORD, "zqxdbpass%241", MODERATION_KEY, MODEL_KEY)
ACCOUNT: Final = "account"
PATIENCE_S: Final = 60.0

BREAKAGE: Final = f"""
    ALTER TABLE ai_decisions ADD CONSTRAINT no_such_text CHECK (message_text NOT LIKE '%{WORD} constraint%');
    CREATE FUNCTION refuse(said text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF said LIKE '%{WORD} history%' THEN RAISE EXCEPTION 'the history says: %', said; END IF;
        RETURN true;
    END $$;
    ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
    CREATE POLICY refusing ON messages USING (refuse(text));
    INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
    VALUES ('{ACCOUNT}', 'broken history', 'm', gen_random_uuid(), 'user', '{WORD} history', now());
"""
PARAGRAPHS: Final = (
    f"Our opening hours are nine to five on weekdays, {WORD} document.",
    f"All refund requests go to the giraffe desk, {WORD} document.",
)
TEXTS: Final = {
    "REPLIED": f"What are your opening hours? {WORD}",
    "FLAGGED_RULE": f"buy spam {WORD}",
    "MODERATION_FLAGGED": f"I will kill you {WORD}",
    "MODERATION_REJECTED": f"{WORD} [[sandbox:mod=400]] hours",
    "LLM_ERROR": f"{WORD} [[sandbox:llm=malformed]] opening hours",
    "LLM_REJECTED": f"{WORD} [[sandbox:llm=400]] opening hours",
    "MODEL_REFUSED": f"{WORD} [[sandbox:llm=refusal]] opening hours",
    "REPLY_MODERATION_FLAGGED": f"{WORD} [[sandbox:llm=flagged]] opening hours",
    "LOW_CONFIDENCE_ESCALATED": f"{WORD} [[sandbox:llm=ungrounded]] opening hours",
    "REPLY_FLAGGED_RULE": f"Where do refund requests go? {WORD}",
}
"""How an event ends -> what is said in it."""

POISON: Final = {"constraint": f"{WORD} constraint: opening hours?", "broken history": "opening hours?"}
"""Conversation -> a text whose handling raises inside Postgres with what a user wrote in the message."""


def event(event_id: str, text: str, conversation: str = "") -> dict[str, Any]:
    return {
        "event_id": event_id,
        "user_id": ACCOUNT,
        "scope": "chat",
        "conversation_id": conversation or f"{WORD} {event_id}",
        "message_id": f"{WORD} message {event_id}",
        "author_id": f"{WORD} author",
        "text": text,
        "created_at": datetime.now(UTC).isoformat(),
        "language": "en",
        "metadata": {f"{WORD} key": [f"{WORD} value"]},
    }


def malformed() -> list[bytes]:
    """Payloads that cannot be an event, each with the word somewhere."""
    whole = event("malformed", "hello")
    wrong: list[dict[str, Any]] = [
        {"scope": WORD},
        {"created_at": WORD},
        {"text": [WORD]},
        {"user_id": WORD * 100},
        {"specversion": WORD},
        {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data": WORD},
    ]
    return [
        f'{{"text": "{WORD}'.encode(),
        f'"{WORD}"'.encode(),
        WORD.encode() + b"\xff",
        ('{"a":' * 50 + f'"{WORD}"' + "}" * 50).encode(),
        *(json.dumps(whole | each).encode() for each in wrong),
    ]


def unusable_hints() -> dict[str, dict[str, Any]]:
    """Event id -> an event that is answered without the part that cannot be used, with the word in it."""
    unusable: list[dict[str, Any]] = [
        {"language": f"{WORD} !"},
        {"attachments": [WORD]},
        {"attachments": {WORD: 1}},
        {"metadata": {WORD: 2**70}},
        {"metadata": {WORD: "\0"}},
        {"metadata": WORD},
        {"text": "hello\0"},
    ]
    return {f"hint {n}": event(f"hint {n}", "hello") | each for n, each in enumerate(unusable)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What one worker left behind: its log, its banner, its error reports, and the rows of the events."""

    log: str
    banner: str
    envelopes: tuple[bytes, ...]
    endings: dict[str, str]
    dead: list[tuple[str, bytes]]
    replies: str
    exit_code: int
    redis_password: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The log, parsed."""
        return [json.loads(line) for line in self.log.splitlines()]

    def named(self, name: str) -> list[dict[str, Any]]:
        """The lines of one event name."""
        return [line for line in self.lines if line["event"] == name]

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The events inside the envelopes."""
        items = []
        for envelope in self.envelopes:
            _, *rest = [json.loads(line) for line in envelope.splitlines() if line]
            for header, body in zip(rest[::2], rest[1::2], strict=True):
                if header["type"] == "event":
                    items.append(body)
        return items


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything around the worker."""

    owner: psycopg.Connection[Any]
    redis: Redis
    redis_url: str
    log: Path

    def until(self, holds: Callable[[], object]) -> None:
        """Return as soon as something holds; fail when it takes too long."""
        pause = threading.Event()
        for _ in range(int(PATIENCE_S / 0.1)):
            if holds():
                return
            pause.wait(0.1)
        pytest.fail(f"waited {PATIENCE_S} s in vain; the log ends: {self.log.read_text()[-3000:]}")

    def said(self, beginning: str) -> bool:
        """Whether a line's event begins so."""
        return f'"event": "{beginning}' in self.log.read_text()


@pytest.fixture(scope="module")
def aftermath(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    """The life of one worker."""
    folder = tmp_path_factory.mktemp("secrecy")
    with contextlib.ExitStack() as stack:
        owner = stack.enter_context(psycopg.connect(database_url, autocommit=True))
        own = stack.enter_context(Stack(database_url=database_url))
        sandbox = stack.enter_context(start_sandbox())
        sentry, reports = stack.enter_context(http_server(lambda _: EMPTY))
        redis = stack.enter_context(Redis.from_url(own.redis_url))
        prepare(owner)
        asyncio.run(store_documents(database_url))
        scene = Scene(owner=owner, redis=redis, redis_url=own.redis_url, log=folder / "log")
        worker = started(environment(scene, database_url, sandbox, sentry), folder)
        stack.callback(worker.wait)
        stack.callback(worker.kill)
        live(scene)
        worker.send_signal(signal.SIGTERM)
        exit_code = worker.wait(PATIENCE_S)
        yield Aftermath(
            log=scene.log.read_text(),
            banner=(folder / "banner").read_text(),
            envelopes=tuple(each.body for each in reports),
            endings=dict(owner.execute("SELECT event_id, reason_code FROM ai_decisions").fetchall()),
            dead=owner.execute("SELECT reason_code, raw FROM dead_letters").fetchall(),
            replies=str(redis.xrange("hushgate:replies")),
            exit_code=exit_code,
            redis_password=str(urlsplit(own.redis_url).password),
        )


def prepare(owner: psycopg.Connection[Any]) -> None:
    """An account, a login that is only the worker's role, and the breakages of a bad day."""
    owner.execute(
        "INSERT INTO ai_rules (user_id, ai_control_enabled, ai_enabled_for_chats, ai_enabled_for_comments,"
        " burst_window_s, flagged_keywords) VALUES (%s, true, true, true, 0, ARRAY['spam', 'giraffe'])",
        (ACCOUNT,),
    )
    owner.execute(f"CREATE ROLE secrecy LOGIN PASSWORD '{DATABASE_PASSWORD}' IN ROLE hushgate_worker")
    owner.execute(BREAKAGE.encode())


async def store_documents(database_url: str) -> None:
    """What replies are made of."""
    async with create_pool(database_url, size=1, application="test", role=None) as source:
        for number, paragraph in enumerate(PARAGRAPHS, 1):
            await add_text_document(source, ACCOUNT, f"{WORD} title {number}", [paragraph])


def environment(scene: Scene, database_url: str, sandbox: SandboxHandle, sentry: str) -> dict[str, str]:
    parts = urlsplit(database_url)
    login = parts._replace(netloc=f"secrecy:zqxdbpass%241@{parts.netloc.rpartition('@')[2]}")
    return {
        **os.environ,
        "DATABASE_URL": login.geturl(),
        "REDIS_URL": scene.redis_url,
        "OPENAI_API_KEY": MODERATION_KEY,
        "OPENAI_BASE_URL": sandbox.base_url,
        "OPENROUTER_API_KEY": MODEL_KEY,
        "OPENROUTER_BASE_URL": sandbox.base_url,
        "SENTRY_DSN": f"http://publickey@{sentry[7:]}/1",
        "HUSHGATE_MODEL_FIRST_WAIT_S": "0",
        "HUSHGATE_LOG_LEVEL": "INFO",
        "PYTHONWARNINGS": "ignore",  # Celery's word about root, printed before any log exists
    }


def started(variables: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "celery", "-A", "tasks.app", "worker", "-l", "INFO"]
    with (folder / "log").open("wb") as log, (folder / "banner").open("wb") as banner:
        return subprocess.Popen(command, env=variables, cwd=ROOT, stderr=log, stdout=banner)


def live(scene: Scene) -> None:
    """A day of everything: endings, malformed payloads, bugs, stray tasks, an outage of each server."""
    publish_many(scene.redis, [event(reason, text) for reason, text in TEXTS.items()])
    publish_many(scene.redis, [event(VISIBLE, f"this is spam {WORD}")])
    publish_many(scene.redis, [event(name, text, name) for name, text in POISON.items()])
    append(scene.redis, malformed())
    append(scene.redis, [json.dumps(each).encode() for each in unusable_hints().values()])
    scene.redis.xadd("hushgate:events", {WORD: WORD})
    send_stray_tasks(scene.redis_url)
    scene.until(lambda: scene.redis.xlen("hushgate:events") == 0)
    lose_the_database(scene)
    scene.redis.client_kill_filter(_type="normal", skipme=True)
    publish_many(scene.redis, [event("after", f"this is spam {WORD}")])
    scene.until(lambda: scene.redis.xlen("hushgate:events") == 0)
    scene.until(lambda: scene.redis.llen("hushgate") == 0)
    scene.until(lambda: scene.said("Received invalid task message"))


def send_stray_tasks(redis_url: str) -> None:
    """Celery messages that fail in every way a message can: unknown, wrong, no event, not decodable."""
    with Celery(broker=redis_url) as publisher:
        publisher.send_task("no.such.task", args=[WORD], kwargs={"text": WORD}, queue="hushgate")
        publisher.send_task("hushgate.publish", kwargs={WORD: WORD}, queue="hushgate")
        publisher.send_task("hushgate.publish", args=[{"text": WORD, "n": 2**70}], queue="hushgate")
        publisher.send_task("hushgate.publish", args=[{"text": WORD}], queue="hushgate", serializer="pickle")


def lose_the_database(scene: Scene) -> None:
    """Postgres refuses the worker while an event waits, and takes it back."""
    scene.owner.execute("ALTER ROLE secrecy NOLOGIN")
    scene.owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'secrecy'")
    publish_many(scene.redis, [event("outage", f"this is spam {WORD}")])
    scene.until(lambda: scene.said("storage_unavailable"))
    scene.owner.execute("ALTER ROLE secrecy LOGIN")
    scene.until(lambda: scene.redis.xlen("hushgate:events") == 0)


def test_the_word_was_planted_everywhere(aftermath: Aftermath) -> None:
    """The run was what it should be: all endings happened, the word reached model, reply, dead letters."""
    expected = {reason: reason for reason in TEXTS}
    expected |= dict.fromkeys((VISIBLE, "outage", "after"), "FLAGGED_RULE")
    expected |= {
        name: "ATTACHMENT_UNSEEN" if WORD in each.get("attachments", ()) else "REPLIED"
        for name, each in unusable_hints().items()
    }
    reasons = [reason for reason, _ in aftermath.dead]

    assert aftermath.endings == expected
    assert reasons.count("poison") == len(POISON)
    assert len(reasons) == len(POISON) + len(malformed()) + 2
    assert f"{WORD} document" in aftermath.replies
    assert sum(WORD.encode() in raw for _, raw in aftermath.dead) == len(reasons)


def test_the_log_tells_what_happened(aftermath: Aftermath) -> None:
    """One JSON object a line; every kind of trouble left its named event."""
    names = {line["event"] for line in aftermath.lines}
    failed = {line["exception"] for line in aftermath.named("handler_failed")}

    assert names >= {"event_decided", "silent_failure", "attempt_failed", "payload_buried", "reply_delivered"}
    assert names >= {"storage_unavailable", "storage_available", "engine_started", "engine_stopped"}
    assert failed == {"CheckViolation", "RaiseException"}
    assert any(line["event"].startswith("Received unregistered task") for line in aftermath.lines)
    assert any(line.get("logger") == "psycopg.pool" for line in aftermath.lines)
    assert aftermath.exit_code == 0


def test_the_search_finds_what_is_there(aftermath: Aftermath) -> None:
    """An event id is logged on purpose, with the same letters and through the same pipes."""
    assert VISIBLE in aftermath.log


def test_no_user_text_is_logged(aftermath: Aftermath) -> None:
    """No line at info or above holds a word of a message, name, document, reply or broken payload."""
    found = [line for line in aftermath.log.splitlines() if WORD in line]

    assert found == []
    assert WORD not in aftermath.banner


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_logged(aftermath: Aftermath, secret: str) -> None:
    """Neither in the log nor in Celery's banner, which names the broker's URL."""
    assert secret not in aftermath.log
    assert secret not in aftermath.banner
    assert "transport:" in aftermath.banner


def test_errors_are_reported(aftermath: Aftermath) -> None:
    """Each bug arrived at Sentry with its type and its frames, nothing else."""
    types = {value["type"] for report in aftermath.reports for value in report["exception"]["values"]}
    frames = [
        frame
        for report in aftermath.reports
        for value in report["exception"]["values"]
        for frame in value.get("stacktrace", {"frames": []})["frames"]
    ]

    assert types >= {"CheckViolation", "RaiseException", "TypeError"}
    assert any(frame["function"] == "look_up_event" for frame in frames)
    assert all(
        frame.keys() <= {"filename", "abs_path", "function", "module", "lineno", "in_app"} for frame in frames
    )


@pytest.mark.parametrize("secret", [WORD, VISIBLE, *SECRETS])
def test_no_error_report_holds_text_or_secrets(aftermath: Aftermath, secret: str) -> None:
    """Not in any envelope of any kind, headers included."""
    assert aftermath.envelopes
    assert all(secret.encode() not in envelope for envelope in aftermath.envelopes)


def test_the_password_of_redis_is_nowhere(aftermath: Aftermath) -> None:
    """Celery speaks of its broker in log and banner, without the password."""
    everything = (aftermath.log, aftermath.banner, *(str(each) for each in aftermath.envelopes))

    assert len(aftermath.redis_password) == 32
    assert all(aftermath.redis_password not in each for each in everything)
    assert ":**@" in aftermath.banner
