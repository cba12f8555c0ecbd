"""Search over an account's chunks, by words and by vector; every statement names the account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from db.embedders import EXACT_NUMBERS, StoredEmbedder, vector_text
from db.pool import Connection, Pool, checkout
from worker.calibration import percentile
from worker.documents.cleaning import clean
from worker.documents.words import words
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.model import FoundBy, Passage, Retrieved
from worker.ports import Embedder

QUERY_CHARS: Final = 2000
CANDIDATES: Final = 50
"""Chunks that each of the two searches hands to the fusion, at least."""

RANK_CONSTANT: Final = 60
"""Of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009."""

SCAN: Final = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "400",
    "hnsw.max_scan_tuples": "40000",
}
"""How far HNSW goes on looking for chunks of this account; measured in ``docs/retrieval.md``."""

LEAST_SHARE: Final = 0.01
"""An account with less of all vectors is searched exactly: the scan would end too early for it."""

WORDS_ASKED: Final = 32
"""Of a long message the rarest words that the account's chunks hold at all."""

HELD: Final = 3000
"""Chunks that are weighed: those with the rarest words. Commoner words only add to their weight."""

STATE: Final = """
    SELECT coalesce((
               SELECT w.chunks FROM account_words w WHERE w.user_id = %(user_id)s AND w.lexeme = ''), 0),
           e.id, e.model, e.dimensions, e.asked_dimensions, e.quantiles,
           (SELECT reltuples FROM pg_class WHERE oid = to_regclass('hnsw_' || e.id))
    FROM (SELECT) AS one LEFT JOIN embedders e ON e.state = 'active'
"""
LABELLED: Final = """
              AND EXISTS (SELECT FROM documents d WHERE d.user_id = %(user_id)s
                          AND d.id = {alias}.document_id AND d.metadata @> %(labels)s)"""
BY_WORDS: Final = """
    WITH asked AS MATERIALIZED (
        SELECT word, quote_literal(word)::tsquery AS test, coalesce(w.chunks, 0) AS chunks,
               ln(1 + greatest(1, total.chunks)::float8 / greatest(1, coalesce(w.chunks, 0))) AS weight
        FROM unnest(hushgate_lexemes(%(words)s)) AS word
        LEFT JOIN account_words w ON w.user_id = %(user_id)s AND w.lexeme = word
        LEFT JOIN account_words total ON total.user_id = %(user_id)s AND total.lexeme = ''
        ORDER BY w.chunks NULLS LAST, word LIMIT {words_asked}
    ), rare AS MATERIALIZED (
        SELECT test FROM (
            SELECT test, chunks, sum(chunks) OVER upwards AS upto, row_number() OVER upwards AS place
            FROM asked WHERE chunks > 0 WINDOW upwards AS (ORDER BY chunks, word)
        ) AS ordered WHERE upto <= {held} OR place = 1
    ), held AS MATERIALIZED (
        SELECT c.document_id, c.number, c.lexemes FROM chunks c
        WHERE c.user_id = %(user_id)s
          AND c.lexemes @@ (SELECT string_agg(test::text, ' | ')::tsquery FROM rare){labelled_c}
        LIMIT {held}
    ), hits AS MATERIALIZED (
        SELECT document_id, number, length(lexemes) AS size, weight FROM held JOIN asked ON lexemes @@ test
    ), worded AS MATERIALIZED (
        SELECT document_id, number, share,
               row_number() OVER (ORDER BY share DESC, size, document_id, number) AS place
        FROM (
            SELECT document_id, number, size,
                   sum(weight) / (SELECT sum(weight) FROM asked) AS share
            FROM hits GROUP BY document_id, number, size
            ORDER BY share DESC, size, document_id, number LIMIT %(candidates)s
        ) AS best
    )"""
EXACT: Final = """, near AS MATERIALIZED (
        SELECT v.document_id, v.number, v.embedding <=> %(vector)s::halfvec AS distance
        FROM chunk_embeddings v
        WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
        ORDER BY distance LIMIT %(candidates)s
    )"""
APPROXIMATE: Final = """, near AS MATERIALIZED (
        SELECT v.document_id, v.number,
               v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) AS distance
        FROM chunk_embeddings v
        WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
        ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        LIMIT %(candidates)s
    )"""
FUSED: Final = """, placed AS MATERIALIZED (
        SELECT document_id, number, row_number() OVER (ORDER BY distance, document_id, number) AS place
        FROM near
    ), fused AS MATERIALIZED (
        SELECT document_id, number, worded.share,
               worded.place IS NOT NULL AS by_words, placed.place IS NOT NULL AS by_vector,
               coalesce(1.0 / ({rank_constant} + worded.place), 0)
               + coalesce(1.0 / ({rank_constant} + placed.place), 0) AS score
        FROM worded FULL JOIN placed USING (document_id, number)
    ), scored AS MATERIALIZED (
        SELECT fused.*, v.embedding IS NOT NULL AS measured,
               coalesce(greatest(0, 1 - (v.embedding <=> %(vector)s::halfvec)), fused.share) AS similarity
        FROM fused LEFT JOIN chunk_embeddings v
            ON v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}
           AND v.document_id = fused.document_id AND v.number = fused.number
    )"""
WORDS_ALONE: Final = """, scored AS MATERIALIZED (
        SELECT document_id, number, share AS similarity, share AS score,
               true AS by_words, false AS by_vector, false AS measured
        FROM worded
    )"""
PASSAGES: Final = """
    SELECT s.document_id, s.number, coalesce(nullif(c.title, ''), d.title), c.text, d.metadata,
           s.similarity, s.measured, s.by_words, s.by_vector
    FROM scored s
    JOIN chunks c ON c.user_id = %(user_id)s AND c.document_id = s.document_id AND c.number = s.number
    JOIN documents d ON d.user_id = %(user_id)s AND d.id = s.document_id
    WHERE s.similarity >= %(min_similarity)s
    ORDER BY s.score DESC, s.similarity DESC, s.document_id, s.number LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """How many chunks an account has, the active embedder, and how many vectors its HNSW index holds."""

    chunks: int
    indexed: float
    embedder: StoredEmbedder | None

    @property
    def exact(self) -> bool:
        """Whether comparing all of the account's vectors is fast enough, or safer than the index."""
        if self.embedder is None or self.chunks * self.embedder.dimensions <= EXACT_NUMBERS:
            return True
        return self.indexed <= 0 or self.chunks < LEAST_SHARE * self.indexed


class PostgresRetriever:
    """``worker.ports.Retriever`` over pgvector and Postgres full text.

    Args:
        source: connections in a role that may read.
        embedder: makes the query's vector; None searches by words alone.
    """

    def __init__(self, source: Pool, embedder: Embedder | None = None) -> None:
        self._source = source
        self._embedder = embedder

    async def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
    ) -> Retrieved:
        """Up to ``limit`` passages of this account, best first; by words alone when the embedder fails.

        Raises:
            StorageUnavailable: Postgres is away or all connections are busy; without it no decision can be
                stored either, so the event waits instead of being answered without its passages.
        """
        query = clean(query)[:QUERY_CHARS].strip()
        async with checkout(self._source) as connection:
            state = await _state(connection, user_id)
        if not query or not state.chunks:
            return Retrieved()
        vector, degraded = await self._vector(query, state)
        if vector is None:
            state = _State(chunks=state.chunks, indexed=0, embedder=None)
        values = {
            "user_id": user_id,
            "words": words(query),
            "vector": vector,
            "labels": Jsonb(dict(labels or {})),
            "candidates": max(CANDIDATES, 2 * limit),
            "limit": limit,
            "min_similarity": min_similarity,
        }
        async with checkout(self._source) as connection:
            rows = await _rows(connection, state, values, labelled=bool(labels))
        return Retrieved(passages=tuple(_passage(row, state.embedder) for row in rows), degraded=degraded)

    async def _vector(self, query: str, state: _State) -> tuple[str | None, str]:
        """The query's vector as pgvector reads it, or None with the reason why there should have been one."""
        stored = state.embedder
        if self._embedder is None or stored is None:
            return None, ""
        try:
            found = await self._embedder.embed(
                [query], model=stored.model, dimensions=stored.asked_dimensions
            )
        except RetrievalUnavailable as error:
            return None, error.kind
        except EmbeddingRejected:
            return None, "rejected"
        if len(found[0]) != stored.dimensions:
            return None, "dimensions"
        return vector_text(found[0]), ""


def statement(embedder: StoredEmbedder | None, *, exact: bool, labelled: bool) -> str:
    """The search as SQL. Embedder and length are literals, for only so can a partial index be chosen."""
    parts = (BY_WORDS, *((EXACT if exact else APPROXIMATE, FUSED) if embedder else (WORDS_ALONE,)), PASSAGES)
    return "".join(parts).format(
        labelled_c=LABELLED.format(alias="c") if labelled else "",
        labelled_v=LABELLED.format(alias="v") if labelled else "",
        embedder_id=embedder.embedder_id if embedder else 0,
        dimensions=embedder.dimensions if embedder else 0,
        rank_constant=RANK_CONSTANT,
        words_asked=WORDS_ASKED,
        held=HELD,
    )


async def _state(connection: Connection, user_id: str) -> _State:
    row = await (await connection.execute(STATE, {"user_id": user_id})).fetchone()
    assert row is not None  # noqa: S101  # a select without a table is a row
    chunks, embedder_id, model, dimensions, asked, quantiles, indexed = row
    embedder = None
    if embedder_id is not None:
        embedder = StoredEmbedder(
            embedder_id=embedder_id,
            model=model,
            dimensions=dimensions,
            asked_dimensions=asked,
            quantiles=tuple(quantiles or ()),
        )
    return _State(chunks=chunks, indexed=indexed or 0, embedder=embedder)


async def _rows(
    connection: Connection, state: _State, values: Mapping[str, Any], *, labelled: bool
) -> list[tuple[Any, ...]]:
    """The rows of one search; never as a prepared statement, whose plan would not know the account's size."""
    query = statement(state.embedder, exact=state.exact, labelled=labelled)
    if state.exact:  # one round trip instead of three
        return await (await connection.execute(query, values, prepare=False)).fetchall()
    async with connection.transaction():
        for name, value in SCAN.items():
            await connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        return await (await connection.execute(query, values, prepare=False)).fetchall()


def _passage(row: Sequence[Any], embedder: StoredEmbedder | None) -> Passage:
    document_id, number, title, text, metadata, similarity, measured, by_words, by_vector = row
    similarity = min(1.0, float(similarity))
    quantiles = embedder.quantiles if embedder and measured else ()
    return Passage(
        passage_id=f"{document_id}#{number}",
        title=title,
        text=text,
        similarity=similarity,
        percentile=percentile(similarity, quantiles) if quantiles else None,
        metadata=metadata,
        found_by=FoundBy.BOTH if by_words and by_vector else FoundBy.WORDS if by_words else FoundBy.VECTOR,
    )
