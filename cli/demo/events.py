"""The demo's events: real comments, written chats, duplicates and payloads that are not events."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, Final

import orjson

from db.documents.ingest import DocumentFile
from sandbox.cases import Case, load_cases

COMMENTS_A_THREAD: Final = 10
FAULT: Final = "sandbox"
"""Field of a chat with the fault that the sandbox makes of it."""
CASE: Final = "case"
"""Field of a chat without a text: the id of the case whose question it is."""
DATA: Final = Path(str(resources.files("cli"))) / "demo" / "data"
CASES: Final = DATA / "cases.jsonl"
"""What the sandbox knows about the questions of the chats (docs/conversations-set.md)."""
DOCUMENTS: Final = DATA / "documents"

MALFORMED: Final = (
    b"this is not JSON",
    b'{"user_id": "corner-shop", "scope": "chat"}',
    b'{"user_id": "corner-shop", "text": "\xff\xfe"}',
    b'{"user_id": 7, "scope": "chat", "conversation_id": "c", "message_id": "m", "author_id": "a",'
    b' "text": "hi", "created_at": "2026-11-21T10:00:00Z"}',
    b'{"user_id": "corner-shop", "scope": "mail", "conversation_id": "c", "message_id": "m",'
    b' "author_id": "a", "text": "hi", "created_at": "2026-11-21T10:00:00Z"}',
    b'{"user_id": "corner-shop", "scope": "chat", "conversation_id": "c", "message_id": "m",'
    b' "author_id": "a", "text": "hi", "created_at": "1970-01-01T00:00:00Z"}',
)


def setup() -> dict[str, Any]:
    """Accounts and documents of the demo."""
    body: dict[str, Any] = json.loads(_text("setup.json"))
    return body


def document_file(name: str) -> DocumentFile:
    """A file of the demo's documents, as ``hushgate documents add`` would read it."""
    return DocumentFile(name=name, source=name, data=(DOCUMENTS / name).read_bytes())


def chats() -> list[dict[str, Any]]:
    """The lines of ``chats.jsonl``, each with its text."""
    questions = {case.case_id: case.query for case in load_cases(CASES).cases}
    lines = _lines("chats.jsonl")
    return [{**line, "text": questions[line[CASE]]} if CASE in line else line for line in lines]


def case_events(run: str) -> dict[str, Case]:
    """The cases of a run with the sandbox, by event id; without those that the sandbox fails."""
    by_id = {case.case_id: case for case in load_cases(CASES).cases}
    return {
        f"{run}-chat-{n}": by_id[line[CASE]]
        for n, line in enumerate(chats())
        if CASE in line and FAULT not in line
    }


def unjudged_conversations(run: str) -> tuple[str, ...]:
    """The conversations in which the judge is away: their drafts are right and wait for a person."""
    lines = (line for line in chats() if line.get(FAULT, {}).get("route") == "judge")
    return tuple(f"{run}-{line['conversation']}" for line in lines)


def payloads(*, run: str, faults: bool) -> list[bytes]:
    """Everything the demo publishes, in order: chats among comments, a few duplicates, a few broken ones.

    Args:
        run: makes the event ids of this run its own.
        faults: whether the messages of ``sandbox_faults`` are among them.
    """
    chat_lines = [line for line in chats() if faults or FAULT not in line]
    comments = _lines("comments.jsonl")
    events = [_comment(run, number, line) for number, line in enumerate(comments)]
    step = max(1, len(events) // len(chat_lines))
    for place, (number, line) in enumerate(enumerate(chat_lines)):
        chat = _event(run, f"chat-{number}", "corner-shop", "chat", line["conversation"], line["text"])
        events.insert(place * (step + 1), chat)
    events.append(_event(run, "stranger", "unknown-shop", "chat", "c00", "Is anybody there?"))
    encoded = [orjson.dumps(event) for event in events]
    encoded[100:100] = [encoded[3], encoded[7], encoded[11]]  # the same event ids again
    encoded[60:60] = MALFORMED
    return encoded


def sandbox_faults() -> list[dict[str, Any]]:
    """Rules of the sandbox (``sandbox.server``): the fault of each chat that names one, by its text."""
    return [{**line[FAULT], "contains": line["text"]} for line in chats() if FAULT in line]


def _comment(run: str, number: int, line: dict[str, Any]) -> dict[str, Any]:
    thread = f"video-{number // COMMENTS_A_THREAD + 1:02d}"
    return _event(run, f"comment-{number}", "music-channel", "comment", thread, line["text"])


def chat(run: str, name: str, conversation: str, text: str) -> dict[str, Any]:
    """One more chat message of a run; ``conversation`` as it is stored."""
    return _event(run, name, "corner-shop", "chat", "", text) | {"conversation_id": conversation}


def _event(run: str, name: str, account: str, scope: str, conversation: str, text: str) -> dict[str, Any]:
    return {
        "event_id": f"{run}-{name}",
        "user_id": account,
        "scope": scope,
        "conversation_id": f"{run}-{conversation}",
        "message_id": f"{run}-{name}",
        "author_id": f"author-of-{name}",
        "text": text,
        "created_at": datetime.now(UTC).isoformat(),
    }


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _text(name).splitlines()]


def _text(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")
