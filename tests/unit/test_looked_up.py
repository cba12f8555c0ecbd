"""What an event was looked up with, in place of further reads."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from db.commits.stored_event import StoredEvent
from db.documents.retrieval import NO_VECTORS, PostgresRetriever
from tasks.entries import deciding
from tasks.entries.deciding import LookedUp
from worker.model import ConversationState, Message, MessageRole
from worker.pipeline import CONTEXT_FRESH_S
from worker.ports import Ports

LINES = tuple(Message(role=MessageRole.USER, text=text) for text in ("first", "second", "third"))
LATER = (Message(role=MessageRole.USER, text="later"),)


class BrokenPool:
    """Fails at every read."""


class Stored:
    """The history as it is stored now."""

    async def history(self, *_: object) -> tuple[Message, ...]:
        """A line that came after the look-up."""
        return LATER


def ports_of_event() -> Ports:
    """The ports of an event that was looked up with ``LINES``, in an account without documents."""
    nothing: Any = None
    behind = Ports(
        clock=nothing,
        moderator=None,
        model=nothing,
        retriever=PostgresRetriever(cast("Any", BrokenPool()), embedder=cast("Any", object())),
        conversations=cast("Any", Stored()),
    )
    stored = StoredEvent(outcome=None, conversation=ConversationState(), search=NO_VECTORS, history=LINES)
    return LookedUp(stored).given(behind)


async def test_the_lines_of_the_look_up_are_given_once_and_then_read_again() -> None:
    """A second reading is made because something may have changed."""
    conversations = ports_of_event().conversations

    assert [await conversations.history("u", "c", 2) for _ in range(2)] == [LINES[-2:], LATER]


async def test_lines_that_a_wait_made_old_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event may wait for a limit of its account between its look-up and its turn."""
    now = 100.0
    monkeypatch.setattr(deciding, "monotonic", lambda: now)
    conversations = ports_of_event().conversations
    now += CONTEXT_FRESH_S + 0.1

    assert await conversations.history("u", "c", 20) == LATER


async def test_the_search_needs_no_read_of_what_the_look_up_read() -> None:
    """Whether the account has documents, and the embedder, are known."""
    found = await ports_of_event().retriever.search("u", "returns", 5)

    assert found.nothing_stored


async def test_what_a_wait_made_old_is_read_again_for_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents may have been added meanwhile."""
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    retriever = ports_of_event().retriever
    now += CONTEXT_FRESH_S + 0.1

    with pytest.raises(AttributeError):  # the pool was asked
        await retriever.search("u", "returns", 5)
