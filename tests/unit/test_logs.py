"""What a log line may hold, as pure values."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import sys
import threading
from typing import Any

import pytest
import structlog

from tasks.process import logs
from worker.settings import Settings

SAID = "what a user wrote"


pytestmark = pytest.mark.usefixtures("restored_logging")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("logger", "template", "arguments", "shown"),
    [
        ("celery.worker", "Received unregistered task of type %s.\nBody: %s", ("t", SAID), "… … "),
        (
            "celery.app.trace",
            "Task %(name)s[%(id)s] %(exc)s",
            ({"name": "n", "id": "1", "exc": SAID},),
            "n[1] …",
        ),
        ("celery.app.trace", "failed: %r", (ValueError(SAID),), "failed: ValueError"),
        ("celery.worker", "%d of %.1f and %s", (3, 1.5, None), "3 of 1.5 and None"),
        ("celery.worker", "%d events", (SAID,), "%d events"),
        ("celery.worker", "too %s %s", (1,), "too %s %s"),
        ("celery.beat", "Sending due task %s (%s)", ("deliver", "hushgate.deliver"), "task deliver (hush"),
        ("celery.beat", "Message Error: %s\n%s", ("full", [f"  File x\n {SAID}"]), "Message Error: full\n…"),
        ("asyncio", f"Task exception was never retrieved\nfuture: <Task {SAID}>", (), "never retrieved"),
        ("asyncio", f"Exception in callback f('{SAID}')", (), "Exception in callback f"),
        ("celery.gossip", ValueError(SAID), (), "ValueError"),
        ("uvicorn.error", "Uvicorn running on %s://%s:%d", ("http", "::1", 80), "running on http://::1:80"),
    ],
)
def test_library_message_keeps_its_template_and_loses_its_payload(
    capsys: pytest.CaptureFixture[str], logger: str, template: Any, arguments: tuple[Any, ...], shown: str
) -> None:
    """Numbers, types and the words of the template stay; strings that may be a payload do not."""
    logs.configure("INFO")
    logging.getLogger(logger).setLevel(logging.NOTSET)  # servers of other tests raise that of uvicorn
    logging.getLogger(logger).error(template, *arguments)
    (line,) = lines(capsys)
    expected = shown.replace("… … ", "Received unregistered task of type ….\nBody: …")

    assert SAID not in json.dumps(line)
    assert expected in line["event"]


def test_exception_is_logged_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Type and frames are there, for our loggers and for others'."""
    logs.configure("INFO")
    try:
        int(SAID)
    except ValueError as error:
        structlog.get_logger("tasks.test").error("broken", exc_info=error)
        logging.getLogger("celery.app.trace").exception("broken")
    ours, theirs = lines(capsys)

    assert {ours["exception"], theirs["exception"]} == {"ValueError"}
    assert "test_logs.py" in ours["frames"][0]
    assert SAID not in json.dumps([ours, theirs])


def test_uncaught_error_is_logged_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the main thread nor another prints a bare traceback."""
    logs.configure("INFO")

    def fail() -> None:
        raise ValueError(SAID)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    sys.excepthook(ValueError, ValueError(SAID), None)
    found = lines(capsys)

    assert [(line["event"], line["exception"]) for line in found] == [("uncaught", "ValueError")] * 2
    assert SAID not in json.dumps(found)


async def test_forgotten_task_is_logged_without_what_it_held(capsys: pytest.CaptureFixture[str]) -> None:
    """What asyncio's own handler logs about an unawaited exception is cut before the data."""
    logs.configure("INFO")
    loop = asyncio.get_running_loop()
    context = {"message": "Task exception was never retrieved", "exception": ValueError(SAID), "text": SAID}
    loop.call_exception_handler(context)
    (line,) = lines(capsys)

    assert (line["event"], line["exception"]) == ("Task exception was never retrieved", "ValueError")
    assert SAID not in json.dumps(line)


def test_secrets_are_masked_wherever_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    """Plain, inside a URL, and as JSON writes them."""
    logs.configure("INFO", ['quote"d-secret', "hunter2-secret"])
    log = structlog.get_logger("tasks.test")
    log.info("hunter2-secret", url="redis://:hunter2-secret@host/0", other='quote"d-secret')
    (line,) = lines(capsys)

    assert line["event"] == logs.MASK
    assert line["url"] == f"redis://:{logs.MASK}@host/0"
    assert line["other"] == logs.MASK


def test_secret_values_are_keys_and_the_passwords_inside_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Percent-encoded passwords count encoded and decoded; short keys of tests do not count."""
    for name, value in {
        "DATABASE_URL": "postgresql://hush:pa%24%24word@db/hushgate",
        "REDIS_URL": "redis://:redis-pass@host:6379/0",
        "OPENAI_API_KEY": "sk-moderation",
        "OPENROUTER_API_KEY": "x",
        "OPENROUTER_BASE_URL": "https://user:in-the-url@llm.example/v1",
        "SENTRY_DSN": "https://public-key@sentry.example/1",
    }.items():
        monkeypatch.setenv(name, value)
    found = set(logs.secret_values(Settings(_env_file=None)))

    assert found == {
        "postgresql://hush:pa%24%24word@db/hushgate",
        "pa%24%24word",
        "pa$$word",
        "redis://:redis-pass@host:6379/0",
        "redis-pass",
        "sk-moderation",
        "in-the-url",
        "https://public-key@sentry.example/1",
        "public-key",
    }


def test_unquoted_password_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password with a character that ends a URL's host part is still known as a whole."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://hush:pass#word@db/hushgate")
    monkeypatch.setenv("REDIS_URL", "redis://host:6379/0")
    monkeypatch.setenv("OPENAI_MODERATION_ENABLED", "false")
    monkeypatch.setenv("OPENROUTER_BASE_URL", "http://llm.example/v1")
    found = logs.secret_values(Settings(_env_file=None))

    assert "pass#word" in found


def test_a_line_that_cannot_be_written_stops_no_caller() -> None:
    """A full disk behind stderr must not end the engine."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            """No space is left."""
            raise OSError(errno.ENOSPC, text)

    logs.configure("INFO")
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(Full())

    structlog.get_logger("tasks.test").info("written")
