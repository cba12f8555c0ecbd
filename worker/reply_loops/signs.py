"""What a message says about its writer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from worker.model import Event, Message, MessageRole, WriterSign
from worker.reply_loops.automatic import is_automatic, is_declared

SHORTEST_REPEATED: Final = 12
"""Characters: people repeat ``yes``, ``ok`` and the numbers of a menu."""
ALIKE: Final = 0.95
LONG: Final = 60
"""Characters from which a text also repeats one with ``ALIKE`` equal ones: machines change a name."""
COMPARED_CHARS: Final = 600
READING_S: Final = 0.5
TYPED_CHARS: Final = 30.0
"""Most characters a second that a person types or dictates; pasted texts come after a pause of their own."""
CHANGING: Final = re.compile(r"\d+|[^\w]+|_")


def sign_of(event: Event, history: Sequence[Message]) -> WriterSign | None:
    """Whether a person or a machine wrote, or None where an answer came too fast to be sure of a person."""
    replies = [line for line in history if line.role is MessageRole.ASSISTANT]
    if not replies:
        return WriterSign.HUMAN
    if is_declared(event.metadata) or is_automatic(event.text):
        return WriterSign.MACHINE
    last = replies[-1].at
    if last is None or event.written_at <= last:  # not an answer to the reply
        return WriterSign.HUMAN
    if _repeats(event.text, [line.text for line in history if line.role is MessageRole.USER]):
        return WriterSign.MACHINE
    waited_s = (event.written_at - last).total_seconds()
    return None if waited_s < READING_S + len(event.text) / TYPED_CHARS else WriterSign.HUMAN


def _repeats(text: str, earlier: Sequence[str]) -> bool:
    written = _compared(text)
    if len(written) < SHORTEST_REPEATED:
        return False
    for each in map(_compared, earlier):
        if each == written:
            return True
        shorter, longer = sorted((len(each), len(written)))
        if shorter < LONG or longer - shorter > (1 - ALIKE) * longer:
            continue
        if SequenceMatcher(None, each, written, autojunk=False).ratio() >= ALIKE:
            return True
    return False


def _compared(text: str) -> str:
    """A text without what automatic replies change: numbers, signs, case."""
    return " ".join(CHANGING.sub(" ", text[:COMPARED_CHARS].casefold()).split())
