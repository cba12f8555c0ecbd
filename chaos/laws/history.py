"""What the stored history, and so the next prompt, must contain, and what it must not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from chaos.laws.endings import called_conversations
from chaos.laws.observations import MARKED, EventKind, Observations, PublishedEvent
from chaos.laws.sentences import each, repeated

REMEMBERED: Final = frozenset(
    {
        *("REPLIED", "LOW_CONFIDENCE_ESCALATED", "MODEL_ESCALATED", "HELD_UNREAD"),
        *("AGENT_MESSAGE", "OWNED_BY_PEOPLE", "TAKEN_OVER"),
    }
)
"""Endings whose message must be stored. After a failure of the models it may be."""


def wrong_history(seen: Observations) -> Iterator[str]:
    """Messages that the next prompt needs are stored once, and of the replies exactly those on the stream."""
    messages = Counter(line.name for line in seen.history if line.by_author)
    replies = Counter(line.name for line in seen.history if not line.by_author)
    due = {row.name for row in seen.decisions if row.reason in REMEMBERED}
    sent = {reply.name for reply in seen.replies}
    yield from each("message that is not in the history", due - messages.keys())
    yield from each("message that is in the history again", repeated(messages))
    yield from each("reply that is not in the history", sent - replies.keys())
    yield from each("reply in the history that is not on the stream", replies.keys() - sent)
    yield from each("reply that is in the history again", repeated(replies))
    stored = {(line.name, line.text) for line in seen.history if not line.by_author}
    sent_texts = {(row.name, row.text) for row in seen.outbox}
    yield from each("reply with another text in the history", {name for name, _ in stored - sent_texts})
    for line in seen.history:
        event = seen.published.get(line.name)
        if event is None or event.conversation != line.conversation:
            yield f"line in the history of another conversation: {line.name}, {line.conversation}"


def residue(seen: Observations) -> Iterator[str]:
    """No flagged exchange is in the history, or in a later prompt.

    Where people own the conversation, only rules flag. A message whose draft would be flagged is clean: it
    stays when the model gave no answer.
    """
    people = called_conversations(seen)
    undrafted = {row.name for row in seen.decisions if row.reason == "LLM_ERROR"}
    flagged = {
        name
        for name, event in seen.published.items()
        if _is_flagged(event, people) and not (event.kind is EventKind.BAD_DRAFT and name in undrafted)
    }
    kept = {line.name for line in seen.history} & flagged
    marks = {mark for line in seen.history for mark in MARKED.findall(line.text)}
    kept |= {name for name in flagged if name.rpartition(".")[2].lstrip("e") in marks}
    yield from each("flagged exchange in the history", kept)
    yield from each("flagged text in a later prompt", set(seen.residue) & flagged)
    if seen.prompts_missed:
        yield f"{seen.prompts_missed} unread requests to models"


def _is_flagged(event: PublishedEvent, people: set[str]) -> bool:
    by_model = event.kind in {EventKind.MODERATED, EventKind.BAD_DRAFT}
    return event.kind is EventKind.RULE or (by_model and event.conversation not in people)
