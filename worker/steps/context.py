"""The context of a draft: the stored history and the account's documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from worker.assessment import checks_labels
from worker.endings import Draft
from worker.errors import RetrievalUnavailable
from worker.model import Event, Message, MessageRole, Passage, Stage, StageOutcome
from worker.passage_screening import screened
from worker.steps.run import GuardedRun, Run

HISTORY_LINES: Final = 20
CONTINUED_LINES: Final = 2
"""Lines that a message is searched with: what its author wrote before, and what was answered."""


async def history(run: Run) -> tuple[Message, ...]:
    """The newest lines of the conversation, oldest first."""
    event = run.case.event
    with run.trace.stage(Stage.HISTORY) as note:
        lines = await run.ports.conversations.history(event.user_id, event.conversation_id, HISTORY_LINES)
        note.detail["lines"] = len(lines)
    return lines


async def retrieve_first(run: Run, draft: Draft, history: tuple[Message, ...] = ()) -> Draft:
    """The draft with the passages for the message, of any labels where the policy checks these.

    The message is searched together with the lines it continues.

    ``with_right_labels`` drops the others once they are checked.
    """
    labels = {} if checks_labels(run.case.policy) else expected_labels(run.case.event)
    lines = continued_lines(history)
    draft = replace(draft, said_before=lines[0] if lines else "")
    return await _searched(run, (run.case.event.searched_text, *lines), draft, labels)


async def retrieve(run: Run, query: str, draft: Draft) -> Draft:
    """The draft with further passages after its own; a failed search adds no passages and degrades."""
    return await _searched(run, (query,), draft, expected_labels(run.case.event))


def continued_lines(history: Sequence[Message]) -> tuple[str, ...]:
    """The author's newest line and the reply to it, oldest first; without such a line the last line."""
    written = [at for at, line in enumerate(history) if line.role is MessageRole.USER]
    first = written[-1] if written else len(history) - 1
    return tuple(line.text for line in history[max(0, first) :][:CONTINUED_LINES])


def with_right_labels(run: GuardedRun, draft: Draft) -> Draft:
    """The draft without the passages that lack a label of the event: no prompt and no text shows them.

    A check has no prompt: when all its passages lack one, a policy that checks labels says so.
    """
    wanted = expected_labels(run.case.event).items()
    if not wanted:
        return draft
    kept = tuple(each for each in draft.passages if wanted <= each.metadata.items())
    if not kept and run.case.event.check is not None and checks_labels(run.case.policy):
        return draft
    return replace(draft, passages=kept)


async def _searched(run: Run, lines: tuple[str, ...], draft: Draft, labels: Mapping[str, str]) -> Draft:
    query, *earlier = lines
    with run.trace.stage(Stage.RETRIEVAL) as note:
        try:
            found = await run.ports.retriever.search(
                run.case.event.user_id,
                query,
                run.search.documents,
                run.search.min_similarity,
                labels,
                earlier=earlier,
                embedded=[run.masker.mask(line) for line in lines],
            )
        except RetrievalUnavailable as error:
            note.outcome = StageOutcome.FAILED
            note.detail["error"] = error.kind
            run.trace.degraded = True
            return replace(draft, search_failure=error.kind)
        if found.embedding is not None:
            run.trace.calls.append(found.embedding)
        if found.degraded:
            note.detail["degraded"] = found.degraded
            run.trace.degraded = True
        known = {passage.passage_id for passage in draft.passages}
        new = _screened(run, tuple(passage for passage in found if passage.passage_id not in known))
        note.detail["passages"] = [passage.passage_id for passage in new]
    return replace(
        draft,
        passages=draft.passages + new,
        nothing_stored=found.nothing_stored,
        search_failure=draft.search_failure if found.passages else found.degraded or draft.search_failure,
    )


def _screened(run: Run, found: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """The passages that may be shown to the model; the trace keeps why another was left out."""
    kept = []
    for passage in found:
        hit = screened(passage, run.case.account, run.case.rules)
        if hit is None:
            kept.append(passage)
        elif hit not in run.trace.screened:
            run.trace.screened.append(hit)
    return tuple(kept)


def expected_labels(event: Event) -> dict[str, str]:
    """Labels that documents must carry for this event: the texts in its ``metadata["labels"]``."""
    labels = event.metadata.get("labels")
    if not isinstance(labels, dict):
        return {}
    return {name: value for name, value in labels.items() if isinstance(value, str)}
