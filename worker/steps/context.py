"""What a draft may rest on: the stored history and the account's documents."""

from __future__ import annotations

from typing import Final

from worker.assessment import Recheck, first_search_of, judges_labels
from worker.errors import RetrievalUnavailable
from worker.model import Event, Message, Passage, StageOutcome
from worker.steps.run import Run

HISTORY_LINES: Final = 20


async def history(run: Run) -> tuple[Message, ...]:
    """The newest lines of the conversation, oldest first."""
    event = run.case.event
    with run.trace.stage("history") as note:
        lines = await run.ports.conversations.history(event.user_id, event.conversation_id, HISTORY_LINES)
        note.detail["lines"] = len(lines)
    return lines


async def retrieve(run: Run, query: str, wanted: Recheck | None = None) -> tuple[Passage, ...]:
    """Passages new to this event, numbered on from those it has; none, and degraded, without search."""
    policy, labels = run.case.policy, expected_labels(run.case.event)
    wanted = wanted or first_search_of(policy)
    with run.trace.stage("retrieval") as note:
        try:
            found = await run.ports.retriever.search(
                run.case.event.user_id,
                query,
                wanted.documents,
                wanted.min_similarity,
                None if judges_labels(policy) else labels,
            )
        except RetrievalUnavailable as error:
            note.outcome = StageOutcome.FAILED
            note.detail["error"] = error.kind
            run.trace.degraded = True
            run.trace.tool_failure = error.kind
            return ()
        if found.degraded:
            note.detail["degraded"] = found.degraded
            run.trace.degraded = True
            if not found.passages:
                run.trace.tool_failure = found.degraded
        known = {passage.passage_id for passage in run.trace.passages}
        new = tuple(passage for passage in found if passage.passage_id not in known)
        note.detail["passages"] = [passage.passage_id for passage in new]
        run.trace.passages += new
    return new


def expected_labels(event: Event) -> dict[str, str]:
    """Labels that documents must carry to answer this event: the texts in its ``metadata["labels"]``."""
    labels = event.metadata.get("labels")
    if not isinstance(labels, dict):
        return {}
    return {name: value for name, value in labels.items() if isinstance(value, str)}
