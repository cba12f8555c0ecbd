"""Search over an account's chunks, by words and by vector; every statement names the account."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import orjson
from psycopg import AsyncRawCursor
from psycopg.types.json import Jsonb

from db.documents.embedding_models import StoredEmbedder, stored_embedder, vector_text
from db.documents.search_statement import search_statement, searches_statement
from db.documents.vector_index import EXACT_NUMBERS
from db.pool import Pool, checkout, fetch_rows
from worker.batched_calls import BatchedCall, call_batched
from worker.documents.cleaning import clean_text
from worker.documents.query import embedded_texts, weighted_words
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.model import CallPurpose, FoundBy, ModelCall, Passage, Retrieved, Stage
from worker.ports import Embedder

QUERY_CHARS: Final = 2000
QUERY_TIMEOUT_S: Final = 5.0
"""Timeout of the embedding of a query; afterwards the search continues by words only."""
CANDIDATES: Final = 50
"""Least number of chunks that each of the two searches passes to the fusion."""
SCAN: Final = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "400",
    "hnsw.max_scan_tuples": "40000",
}
"""Limits of the HNSW scan for chunks of this account; measured in ``docs/retrieval.md``."""
MOST_SEARCHES: Final = 16
"""Searches of a round trip: each waits for the slowest of them."""
LEAST_SHARE: Final = 0.01
"""An account with a smaller share of all vectors is searched exactly: the scan would end too early."""
STATE: Final = """
    coalesce((SELECT w.chunks FROM account_words w WHERE w.user_id = asked.user_id AND w.lexeme = ''), 0),
    (SELECT reltuples FROM pg_class WHERE oid = to_regclass('hnsw_' || e.id)),
    e.id, e.model, e.dimensions, e.asked_dimensions
"""
"""Columns of ``search_state``, for rows ``asked`` with a ``user_id``, joined by ``WITH_EMBEDDER``."""
WITH_EMBEDDER: Final = "LEFT JOIN embedders e ON e.state = 'active'"
READ_STATE: Final = f"""
    SELECT {STATE} FROM unnest(%s::text[]) WITH ORDINALITY AS asked (user_id, place) {WITH_EMBEDDER}
    ORDER BY asked.place
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """How many chunks an account has, the active embedder, and how many vectors its HNSW index holds."""

    chunks: int
    indexed: float
    embedder: StoredEmbedder | None

    @property
    def exact(self) -> bool:
        """Whether to compare all of the account's vectors: fast enough, or safer than the index."""
        if self.embedder is None or self.chunks * self.embedder.dimensions <= EXACT_NUMBERS:
            return True
        return self.indexed <= 0 or self.chunks < LEAST_SHARE * self.indexed


NO_VECTORS: Final = SearchState(chunks=0, indexed=0, embedder=None)
"""The state of a search by words only."""


class PostgresRetriever:
    """``worker.ports.Retriever`` over pgvector and Postgres full text.

    Args:
        embedder: makes the query's vector; None: search by words only.
        known: the state of the only account that is searched, until this time of the monotonic clock.
    """

    def __init__(
        self, source: Pool, embedder: Embedder | None = None, known: tuple[SearchState, float] | None = None
    ) -> None:
        self._source = source
        self._embedder = embedder
        self._known = known

    def knowing(self, state: SearchState, until_s: float) -> PostgresRetriever:
        """A search for one account whose state was just read, until this time of the monotonic clock."""
        return PostgresRetriever(self._source, self._embedder, (state, until_s))

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
        """Up to ``limit`` passages of this account, best first; by words only when the embedder fails.

        Raises:
            StorageUnavailable: Postgres is unreachable or all connections are busy. No decision can be stored
                either, so the event waits instead of being answered without passages.
        """
        query, *lines = _cleaned((query, *earlier))
        weights = weighted_words(query, lines)
        values = {
            "user_id": user_id,
            "words": list(weights),
            "boosts": list(weights.values()),
            "vectors": None,
            "labels": dict(labels or {}),
            "candidates": max(CANDIDATES, 2 * limit),
            "most": limit,
            "min_similarity": min_similarity,
        }
        if not query:
            return Retrieved()
        if self._embedder is None:  # the state of the account's vectors changes nothing
            return await self._found_by_words(values, labelled=bool(labels))
        state = await self._state(user_id)
        if not state.chunks:
            return Retrieved(nothing_stored=True)
        if state.embedder is None:
            return await self._found_by_words(values, labelled=bool(labels))
        started_s = time.monotonic()
        shown = _cleaned(embedded or (query, *lines))
        vectors, degraded = await self._vectors(shown, state)  # without a connection
        call = _call(started_s, state.embedder, degraded)
        values["vectors"] = vectors
        if not vectors:
            state = NO_VECTORS
        rows = await _rows(self._source, state, values, labelled=bool(labels))
        passages = tuple(_passage(row, by_words=not vectors) for row in rows)
        return Retrieved(passages=passages, degraded=degraded, embedding=call)

    async def _state(self, user_id: str) -> SearchState:
        if self._known is not None and time.monotonic() <= self._known[1]:
            return self._known[0]
        return await call_batched(self._source, STATES, user_id)

    async def _found_by_words(self, values: Mapping[str, Any], *, labelled: bool) -> Retrieved:
        rows = await _rows(self._source, NO_VECTORS, values, labelled=labelled)
        if not rows:
            state = await self._state(values["user_id"])
            return Retrieved(nothing_stored=not state.chunks)
        return Retrieved(passages=tuple(_passage(row, by_words=True) for row in rows))

    async def _vectors(self, lines: Sequence[str], state: SearchState) -> tuple[list[str], str]:
        """Vectors of a query and the lines before it as pgvector reads them, or the embedder's failure."""
        stored = state.embedder
        if self._embedder is None or stored is None:
            return [], ""
        query, *earlier = lines
        texts = embedded_texts(query, earlier)
        try:
            found = await self._embedder.embed(texts, model=stored.model, dimensions=stored.asked_dimensions)
        except RetrievalUnavailable as error:
            return [], error.kind
        except EmbeddingRejected:
            return [], "rejected"
        if len(found[0]) != stored.dimensions:
            return [], "dimensions"
        if earlier:
            own, continued, *sentences = found
            found = (tuple(map(sum, zip(own, continued, strict=True))), *sentences)
        return [vector_text(vector) for vector in found], ""


def _call(started_s: float, embedder: StoredEmbedder, error: str) -> ModelCall:
    """The call for the query's vector, which ends now."""
    return ModelCall(
        purpose=CallPurpose.EMBEDDING,
        stage=Stage.RETRIEVAL,
        started_s=started_s,
        duration_s=time.monotonic() - started_s,
        model=embedder.model,
        error=error,
    )


def _cleaned(lines: Sequence[str]) -> list[str]:
    return [clean_text(line)[:QUERY_CHARS].strip() for line in lines]


def search_state(row: Sequence[Any]) -> SearchState:
    """The state of a row with the columns ``STATE``."""
    chunks, indexed, *embedder = row
    return SearchState(
        chunks=chunks,
        indexed=indexed or 0,
        embedder=None if embedder[0] is None else stored_embedder(embedder),
    )


async def _states(source: Pool, user_ids: Sequence[str]) -> list[SearchState]:
    return [search_state(row) for row in await fetch_rows(source, READ_STATE, (list(user_ids),))]


async def _rows(
    source: Pool, state: SearchState, values: Mapping[str, Any], *, labelled: bool
) -> list[tuple[Any, ...]]:
    """The rows of one search.

    Planning takes longer than a search of a small account, so Postgres keeps the plan of an exact one. The
    statement fixes the order of its steps, so a kept plan suits accounts of any size (decision 0056).
    """
    if state.exact:
        return await call_batched(source, _exact_searches(state.embedder, labelled=labelled), values)
    statement = search_statement(state.embedder, exact=False, labelled=labelled)
    async with checkout(source) as connection, connection.transaction():
        for name, value in SCAN.items():
            await connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        # not prepared: it must be planned under these settings
        given = {**values, "labels": Jsonb(values["labels"])}
        return await (await connection.execute(statement, given, prepare=False)).fetchall()


async def _searches(
    source: Pool, asked: Sequence[Mapping[str, Any]], *, statement: str
) -> list[list[tuple[Any, ...]]]:
    """Several exact searches by one statement."""
    async with checkout(source) as connection:
        cursor = await AsyncRawCursor(connection).execute(statement, (orjson.dumps(asked).decode(),))
        rows = await cursor.fetchall()
    found: list[list[tuple[Any, ...]]] = [[] for _ in asked]
    for place, *row in rows:
        found[place - 1].append(tuple(row))
    return found


@lru_cache(maxsize=64)
def _exact_searches(
    embedder: StoredEmbedder | None, *, labelled: bool
) -> BatchedCall[Pool, Mapping[str, Any], list[tuple[Any, ...]]]:
    """One call per form of the statement: only searches of the same form share a round trip."""
    statement = searches_statement(embedder, labelled=labelled)
    return BatchedCall(together=partial(_searches, statement=statement), most=MOST_SEARCHES)


STATES: Final = BatchedCall(together=_states)


def _passage(row: Sequence[Any], *, by_words: bool) -> Passage:
    document_id, number, title, text, metadata, similarity, in_words, in_vectors, released, _ = row
    return Passage(
        passage_id=f"{document_id}#{number}",
        title=title,
        text=text,
        similarity=min(1.0, float(similarity)),
        metadata=metadata,
        released=tuple(released),
        found_by=FoundBy.BOTH if in_words and in_vectors else FoundBy.WORDS if in_words else FoundBy.VECTOR,
        by_words=by_words,
    )
