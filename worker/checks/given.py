"""A check as the pipeline reads it: an event, and ports that answer with what the program gave."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from worker.displayed import revealed_text
from worker.model import Event, EventType, GivenCheck, Message, Passage, Retrieved
from worker.moderation_holds import Holds
from worker.payload.check_schema import CheckRequest
from worker.ports import Ports, Retriever

UNKNOWN_AUTHOR_ID: Final = "unknown"
"""Author of a check that names none; an erasure finds such checks by conversation and account."""
ENTRY: Final = "check"
"""Entry id of every check, as no stream carried it."""


def check_event(request: CheckRequest, *, check_id: str, at: datetime) -> Event:
    """The event of a check that came ``at``; without a conversation it is one of its own."""
    is_assessed = request.passages is not None or request.search
    return Event(
        event_id=check_id,
        entry_id=ENTRY,
        user_id=request.user_id,
        scope=request.scope,
        conversation_id=request.conversation_id or check_id,
        message_id=request.message_id or check_id,
        author_id=request.author_id or UNKNOWN_AUTHOR_ID,
        text=revealed_text(request.message) or request.message,
        created_at=at,
        received_at=at,
        language=request.language,
        metadata=request.metadata,
        type=EventType.CHECK,
        check=GivenCheck(draft=request.draft, is_assessed=is_assessed),
    )


def check_ports(request: CheckRequest, behind: Ports) -> Ports:
    """The ports of a check: nothing can arrive meanwhile, and no model writes."""
    return replace(
        behind,
        conversations=GivenHistory(given_history(request)),
        retriever=GivenPassages(given_passages(request), behind.retriever if request.search else None),
        arrivals=None,
        models={},
        holds=Holds(),
    )


def given_history(request: CheckRequest) -> tuple[Message, ...]:
    """The earlier lines that the program gave."""
    return tuple(Message(role=each.role, text=each.text) for each in request.history)


def given_passages(request: CheckRequest) -> tuple[Passage, ...]:
    """The passages that the program gave."""
    return tuple(
        Passage(
            passage_id=each.id or str(number),
            title=each.title,
            text=each.text,
            similarity=each.score,
            metadata=each.metadata,
            number=number,
        )
        for number, each in enumerate(request.passages or (), start=1)
    )


def request_hash(request: CheckRequest) -> str:
    """The hash by which a repeated request is known to have the same content."""
    return hashlib.sha256(request.model_dump_json().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class GivenHistory:
    """``worker.ports.Conversations`` over the lines of one check or item of a golden set."""

    lines: tuple[Message, ...]

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:  # noqa: ARG002
        """The newest ``limit`` lines, oldest first."""
        return self.lines[-limit:] if limit else ()


@dataclass(frozen=True, slots=True)
class GivenPassages:
    """``worker.ports.Retriever`` over the passages of one check; ``documents``: searched for more."""

    passages: tuple[Passage, ...]
    documents: Retriever | None

    async def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
        *,
        earlier: Sequence[str] = (),
        embedded: Sequence[str] | None = None,
    ) -> Retrieved:
        """The given passages, then those of the account's documents, numbered in this order."""
        if self.documents is None:
            return Retrieved(passages=self.passages)
        found = await self.documents.search(
            user_id, query, limit, min_similarity, labels, earlier=earlier, embedded=embedded
        )
        nothing = found.nothing_stored and not self.passages
        added = enumerate(found.passages, len(self.passages) + 1)
        passages = self.passages + tuple(replace(each, number=number) for number, each in added)
        return replace(found, passages=passages, nothing_stored=nothing)
