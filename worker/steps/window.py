"""A short message judged with its author's last messages, so that no attack passes in pieces.

Each of these messages passed alone when it came, and a flagged one left the history. A hit of the joined text
therefore involves the new message, unless the earlier text is flagged without it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from worker.assessment import needs_no_answer
from worker.endings import MESSAGE, Ending
from worker.model import Message, MessageRole, Scope
from worker.steps import guards
from worker.steps.run import Run

SHORT_CHARS: Final = 160
"""Longest message that is judged with those before it; a longer text says enough alone."""
MOST_LINES: Final = 4
MOST_CHARS: Final = 500
"""Of the earlier messages, which bounds what a moderator with a price reads more."""
MOST_AGE: Final = timedelta(hours=1)


async def moderation_ending(run: Run, history: Sequence[Message]) -> Ending | None:
    """The ending when message and earlier messages together are an instruction, or flagged by moderators.

    One request; only a hit is asked about again without the new message.
    """
    text = run.case.event.text
    if not (earlier := _earlier_texts(run, history)):
        return await guards.moderation_ending(run, text, MESSAGE)
    before = "\n".join(earlier)
    if (split := guards.split_instruction_ending(run, before, text)) is not None:
        return _together(split, earlier)
    joined = run.beside()
    blocked = await guards.moderation_ending(joined, f"{before}\n{text}", MESSAGE)
    if blocked is None or not blocked.quarantine:
        run.trace.join(joined.trace)
        return blocked
    alone = run.beside()
    is_old = await guards.moderation_ending(alone, before, MESSAGE) is not None
    run.trace.join(alone.trace, only_costs=True)
    run.trace.join(joined.trace, only_costs=is_old)
    if is_old:
        return await guards.moderation_ending(run, text, MESSAGE)
    return _together(blocked, earlier)


def _together(ending: Ending, earlier: Sequence[str]) -> Ending:
    with_them = f"together with the author's messages before ({len(earlier)})"
    return replace(ending, reason=f"{ending.reason}, {with_them}")


def _earlier_texts(run: Run, history: Sequence[Message]) -> tuple[str, ...]:
    """The author's last short messages, oldest first; none before a long message or one such as thanks.

    A chat has one author, comments have many.
    """
    event = run.case.event
    is_short = event.scope is Scope.CHAT and 0 < len(event.text.strip()) <= SHORT_CHARS
    if not is_short or needs_no_answer(event, history):
        return ()
    texts: list[str] = []
    oldest = run.ports.clock.now() - MOST_AGE
    for line in reversed(history):
        if line.role is not MessageRole.USER:
            continue
        is_over = len(texts) == MOST_LINES or sum(map(len, texts)) + len(line.text) > MOST_CHARS
        if is_over or len(line.text) > SHORT_CHARS or (line.at is not None and line.at < oldest):
            break
        texts.append(line.text)
    return tuple(reversed(texts))
