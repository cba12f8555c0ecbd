"""Vectors of chunks: which are missing, and storing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from db.connection import Connection
from db.documents.embedding_models import StoredEmbedder, vector_text
from db.pool import Pool, checkout, fetch_rows
from worker.errors import ConfigurationError

MISSING: Final = """
    SELECT c.user_id, c.document_id, c.number, c.title, c.text FROM chunks c
    WHERE (c.document_id, c.number) > (%(document_id)s, %(number)s)
      AND NOT EXISTS (
        SELECT FROM chunk_embeddings v
        WHERE v.embedder_id = %(embedder_id)s AND v.document_id = c.document_id AND v.number = c.number)
    ORDER BY c.document_id, c.number LIMIT %(limit)s
"""
COUNTS: Final = """
    SELECT count(*), count(v.embedder_id) FROM chunks c
    LEFT JOIN chunk_embeddings v
        ON v.embedder_id = %s AND v.document_id = c.document_id AND v.number = c.number
"""
INSERT_VECTOR: Final = """
    INSERT INTO chunk_embeddings (embedder_id, document_id, number, user_id, embedding)
    SELECT %(embedder_id)s, c.document_id, c.number, c.user_id, %(embedding)s::halfvec FROM chunks c
    WHERE c.user_id = %(user_id)s AND c.document_id = %(document_id)s AND c.number = %(number)s
    ON CONFLICT (embedder_id, document_id, number) DO UPDATE SET embedding = excluded.embedding
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A chunk that has no vector of an embedder yet."""

    user_id: str
    document_id: int
    number: int
    whole: str


async def has_chunks_without_vector(connection: Connection, embedder_id: int) -> bool:
    """Whether a chunk of any account has no vector of this embedder."""
    values = {"embedder_id": embedder_id, "document_id": 0, "number": 0, "limit": 1}
    return await (await connection.execute(MISSING, values)).fetchone() is not None


async def chunks_without_vector(
    source: Pool, embedder: StoredEmbedder, *, after: tuple[int, int], limit: int
) -> tuple[Unembedded, ...]:
    """The next chunks without a vector of this embedder, after (document, number)."""
    document_id, number = after
    start = {"document_id": document_id, "number": number, "limit": limit}
    rows = await fetch_rows(source, MISSING, start | {"embedder_id": embedder.embedder_id})
    return tuple(
        Unembedded(user_id=user_id, document_id=document_id, number=number, whole=f"{title}\n{text}".strip())
        for user_id, document_id, number, title, text in rows
    )


async def count_vectors(source: Pool, embedder: StoredEmbedder | None) -> tuple[int, int]:
    """How many chunks there are, and how many have a vector of this embedder."""
    ((whole, done),) = await fetch_rows(source, COUNTS, (embedder.embedder_id if embedder else None,))
    return whole, done


async def store_vectors(
    source: Pool, embedder: StoredEmbedder, chunks: Sequence[Unembedded], vectors: Sequence[Sequence[float]]
) -> None:
    """Store vectors of chunks; a chunk that was removed meanwhile is skipped."""
    async with checkout(source) as connection, connection.transaction():
        keys = ((chunk.user_id, chunk.document_id, chunk.number) for chunk in chunks)
        await insert_vectors(connection, embedder, keys, vectors)


async def insert_vectors(
    connection: Connection,
    embedder: StoredEmbedder,
    keys: Iterable[tuple[str, int, int]],
    vectors: Sequence[Sequence[float]],
) -> None:
    """Insert vectors of the chunks (account, document, number), within the caller's transaction."""
    if any(len(vector) != embedder.dimensions for vector in vectors):
        raise ConfigurationError(
            f"{embedder.model} gave vectors of another length than the {embedder.dimensions} numbers stored"
        )
    rows = [
        {
            "embedder_id": embedder.embedder_id,
            "user_id": user_id,
            "document_id": document_id,
            "number": number,
            "embedding": vector_text(vector),
        }
        for (user_id, document_id, number), vector in zip(keys, vectors, strict=True)
    ]
    await connection.cursor().executemany(INSERT_VECTOR, rows)
