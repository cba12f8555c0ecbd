"""What a draft may rest on: the stored history and the account's documents."""

from __future__ import annotations

from typing import Final

from worker.assessment import Recheck
from worker.errors import RetrievalUnavailable
from worker.model import Message, Passage, StageOutcome
from worker.steps.run import Run

HISTORY_LINES: Final = 20
FIRST_SEARCH: Final = Recheck(documents=5, min_similarity=0.0)
"""Five passages (seed 001); how near they must be is the policy's affair."""


async def history(run: Run) -> tuple[Message, ...]:
    """The newest lines of the conversation, oldest first."""
    event = run.case.event
    with run.trace.stage("history") as note:
        lines = await run.ports.conversations.history(event.user_id, event.conversation_id, HISTORY_LINES)
        note.detail["lines"] = len(lines)
    return lines


async def retrieve(run: Run, query: str, wanted: Recheck = FIRST_SEARCH) -> tuple[Passage, ...]:
    """Passages new to this event, numbered on from those it has; none, and degraded, without search."""
    with run.trace.stage("retrieval") as note:
        try:
            found = await run.ports.retriever.search(run.case.event.user_id, query, wanted.documents)
        except RetrievalUnavailable as error:
            note.outcome = StageOutcome.FAILED
            note.detail["error"] = error.kind
            run.trace.degraded = True
            run.trace.tool_failed = True
            return ()
        known = {passage.passage_id for passage in run.trace.passages}
        new = tuple(
            passage
            for passage in found
            if passage.passage_id not in known and passage.similarity >= wanted.min_similarity
        )
        note.detail["passages"] = [passage.passage_id for passage in new]
        run.trace.passages += new
    return new
