"""The history that is read with an event's look-up."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tasks.entries import deciding
from tasks.entries.deciding import HistoryLookedUp
from worker.model import Message, MessageRole
from worker.pipeline import CONTEXT_FRESH_S
from worker.ports import Ports

LINES = tuple(Message(role=MessageRole.USER, text=text) for text in ("first", "second", "third"))
LATER = (Message(role=MessageRole.USER, text="later"),)


class Stored:
    """The history as it is stored now."""

    async def history(self, *_: object) -> tuple[Message, ...]:
        """A line that came after the look-up."""
        return LATER


def ports_of(looked_up: HistoryLookedUp) -> Ports:
    """The ports of an event with these lines."""
    nothing: Any = None
    behind = Ports(
        clock=nothing, moderator=None, model=nothing, retriever=nothing, conversations=cast("Any", Stored())
    )
    return looked_up.given(behind)


async def test_the_lines_of_the_look_up_are_given_once_and_then_read_again() -> None:
    """A second reading is made because something may have changed."""
    conversations = ports_of(HistoryLookedUp(LINES)).conversations

    assert [await conversations.history("u", "c", 2) for _ in range(2)] == [LINES[-2:], LATER]


async def test_lines_that_a_wait_made_old_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event may wait for a limit of its account between its look-up and its turn."""
    now = 100.0
    monkeypatch.setattr(deciding, "monotonic", lambda: now)
    conversations = ports_of(HistoryLookedUp(LINES)).conversations
    now += CONTEXT_FRESH_S + 0.1

    assert await conversations.history("u", "c", 20) == LATER
