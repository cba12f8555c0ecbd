"""Models whose vectors are stored: which one searches use, what its cosines mean, and the way to another.

Every statement here but ``ACTIVE`` and ``STATE`` is upkeep over all accounts, run by the owner of the tables
on the command line; the worker's role has no right to any of them but reading.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from psycopg.sql import SQL, Identifier, Literal

from db.pool import Connection, Pool, checkout
from worker.calibration import LEAST_SAMPLE, SAMPLE, SHARES, background
from worker.errors import ConfigurationError
from worker.ports import Embedder

MOST_DIMENSIONS: Final = 4000
"""As far as pgvector 0.8 indexes a ``halfvec``."""

EXACT_NUMBERS: Final = 10_000_000
"""Numbers (vectors times dimensions) of one account up to which all are compared: about 20 ms, see
``docs/retrieval.md``."""

INDEX_MEMORY: Final = "512MB"
COLUMNS: Final = "id, model, dimensions, asked_dimensions, quantiles, calibrated_chunks"
ACTIVE: Final = f"SELECT {COLUMNS} FROM embedders WHERE state = 'active'"  # noqa: S608  # our own names
ACTIVE_FOR_SHARE: Final = "SELECT id FROM embedders WHERE state = 'active' FOR SHARE"
CREATE: Final = f"""
    INSERT INTO embedders (model, dimensions, asked_dimensions, state) VALUES (%s, %s, %s, 'building')
    ON CONFLICT (model, dimensions) DO UPDATE
        SET asked_dimensions = excluded.asked_dimensions,
            state = CASE embedders.state WHEN 'active' THEN 'active' ELSE 'building' END
    RETURNING {COLUMNS}
"""  # noqa: S608
FIRST: Final = """
    UPDATE embedders SET state = 'active', activated_at = now()
    WHERE id = %s AND NOT EXISTS (SELECT FROM embedders WHERE state = 'active')
"""
RETIRE: Final = "UPDATE embedders SET state = 'retired' WHERE state = 'active' AND id <> %s"
ACTIVATE: Final = (
    "UPDATE embedders SET state = 'active', activated_at = now() WHERE id = %s AND state = 'building'"
)
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
LARGEST: Final = """
    SELECT coalesce(max(vectors), 0) FROM (
        SELECT count(*) AS vectors FROM chunk_embeddings WHERE embedder_id = %s GROUP BY user_id) AS counted
"""
INDEX_VALID: Final = """
    SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = %s AND i.indrelid = 'chunk_embeddings'::regclass
"""
BACKGROUND: Final = """
    WITH passages AS (
        (SELECT embedding FROM chunk_embeddings WHERE embedder_id = %(embedder_id)s
         ORDER BY hashint8(document_id * 100003 + number) LIMIT %(sample)s)
        UNION ALL SELECT passage::halfvec FROM unnest(%(passages)s::text[]) AS passage
    ), pairs AS (
        SELECT greatest(0, 1 - (embedding <=> question::halfvec)) AS similarity
        FROM passages, unnest(%(questions)s::text[]) AS question
    )
    UPDATE embedders SET
        quantiles = (
            SELECT percentile_cont(%(shares)s::float8[]) WITHIN GROUP (ORDER BY similarity) FROM pairs),
        pairs = (SELECT count(*) FROM pairs),
        calibrated_chunks = (SELECT count(*) FROM chunk_embeddings WHERE embedder_id = %(embedder_id)s)
    WHERE id = %(embedder_id)s
"""
VECTORS_OF: Final = "SELECT count(*) FROM chunk_embeddings WHERE embedder_id = %s"
UNUSED: Final = "SELECT id FROM embedders WHERE state <> 'active'"
ALONE: Final = "SELECT pg_try_advisory_lock(hashtextextended('hushgate re-embedding', 0))"
NOT_ALONE: Final = "SELECT pg_advisory_unlock(hashtextextended('hushgate re-embedding', 0))"
DROP_VECTORS: Final = "DELETE FROM chunk_embeddings WHERE embedder_id = %s"
DROP_EMBEDDER: Final = "DELETE FROM embedders WHERE id = %s AND state <> 'active'"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEmbedder:
    """A model whose vectors are stored.

    Attributes:
        embedder_id: of ``embedders``.
        model: as the endpoint is asked for it.
        dimensions: numbers in a vector.
        asked_dimensions: what requests say; 0 for nothing.
        quantiles: background similarities at ``worker.calibration.SHARES``; empty until calibrated.
        calibrated_chunks: vectors that were stored when it was calibrated.
    """

    embedder_id: int
    model: str
    dimensions: int
    asked_dimensions: int
    quantiles: tuple[float, ...] = ()
    calibrated_chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A chunk that has no vector of an embedder yet."""

    user_id: str
    document_id: int
    number: int
    whole: str


async def active(source: Pool) -> StoredEmbedder | None:
    """The embedder that searches use, or None while documents are found by words alone."""
    async with checkout(source) as connection:
        row = await (await connection.execute(ACTIVE)).fetchone()
    return _embedder(row) if row else None


async def found_or_made(source: Pool, model: str, dimensions: int, asked: int) -> StoredEmbedder:
    """The embedder of this name and length; when none is active it becomes so at once.

    Raises:
        ConfigurationError: its vectors are too long to index.
    """
    if dimensions > MOST_DIMENSIONS:
        raise ConfigurationError(
            f"{model} gives vectors of {dimensions} numbers, the index takes {MOST_DIMENSIONS}: "
            "set HUSHGATE_EMBEDDING_DIMENSIONS"
        )
    async with checkout(source) as connection, connection.transaction():
        row = await (await connection.execute(CREATE, (model, dimensions, asked))).fetchone()
        assert row is not None  # noqa: S101  # INSERT ... RETURNING gives a row or raises
        await connection.execute(FIRST, (row[0],))
    return _embedder(row)


async def _has_chunks_without(connection: Connection, embedder_id: int) -> bool:
    values = {"embedder_id": embedder_id, "document_id": 0, "number": 0, "limit": 1}
    return await (await connection.execute(MISSING, values)).fetchone() is not None


async def missing(
    source: Pool, embedder: StoredEmbedder, *, after: tuple[int, int], limit: int
) -> tuple[Unembedded, ...]:
    """The next chunks without a vector of this embedder, after (document, number)."""
    values = {
        "embedder_id": embedder.embedder_id,
        "document_id": after[0],
        "number": after[1],
        "limit": limit,
    }
    async with checkout(source) as connection:
        rows = await (await connection.execute(MISSING, values)).fetchall()
    return tuple(
        Unembedded(user_id=user_id, document_id=document_id, number=number, whole=f"{title}\n{text}".strip())
        for user_id, document_id, number, title, text in rows
    )


async def counts(source: Pool, embedder: StoredEmbedder | None) -> tuple[int, int]:
    """How many chunks there are, and how many have a vector of this embedder."""
    embedder_id = embedder.embedder_id if embedder else None
    async with checkout(source) as connection:
        row = await (await connection.execute(COUNTS, (embedder_id,))).fetchone()
    assert row is not None  # noqa: S101  # a count is a row
    return row[0], row[1]


async def store_vectors(
    source: Pool,
    embedder: StoredEmbedder,
    chunks: Sequence[Unembedded],
    vectors: Sequence[Sequence[float]],
) -> None:
    """Store vectors of chunks; a chunk that was removed meanwhile is left out."""
    async with checkout(source) as connection, connection.transaction():
        await insert_vectors(
            connection,
            embedder,
            ((chunk.user_id, chunk.document_id, chunk.number) for chunk in chunks),
            vectors,
        )


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


async def activate(source: Pool, embedder: StoredEmbedder) -> bool:
    """Make an embedder the one that searches use; False when chunks still lack its vectors."""
    async with checkout(source) as connection, connection.transaction():
        await connection.execute("LOCK TABLE chunks IN SHARE MODE")
        if await _has_chunks_without(connection, embedder.embedder_id):
            return False
        await connection.execute(RETIRE, (embedder.embedder_id,))
        await connection.execute(ACTIVATE, (embedder.embedder_id,))
    return True


@asynccontextmanager
async def alone(source: Pool) -> AsyncIterator[None]:
    """Holds off any other re-embedding of this database.

    Raises:
        ConfigurationError: one is running.
    """
    async with checkout(source) as connection:
        row = await (await connection.execute(ALONE)).fetchone()
        if not row or not row[0]:
            raise ConfigurationError("a re-embedding is running already: let it end first")
        try:
            yield
        finally:
            await connection.execute(NOT_ALONE)


async def drop_unused(source: Pool) -> int:
    """Remove embedders that are not active, retired and abandoned, with index and vectors; how many."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(UNUSED)).fetchall()
        for (embedder_id,) in rows:
            await connection.execute(
                SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(_index_name(embedder_id))
            )
            async with connection.transaction():
                await connection.execute("SET LOCAL statement_timeout = 0")
                await connection.execute(DROP_VECTORS, (embedder_id,))
                await connection.execute(DROP_EMBEDDER, (embedder_id,))
    return len(rows)


async def ensure_index(source: Pool, embedder: StoredEmbedder, *, least: int = EXACT_NUMBERS) -> bool:
    """Build the HNSW index once an account has more than ``least`` numbers; True when it was built now."""
    name = f"hnsw_{embedder.embedder_id}"
    async with checkout(source) as connection:
        largest = await (await connection.execute(LARGEST, (embedder.embedder_id,))).fetchone()
        valid = await (await connection.execute(INDEX_VALID, (name,))).fetchone()
        if (valid and valid[0]) or largest is None or largest[0] * embedder.dimensions <= least:
            return False
        if valid:  # left behind by a build that was interrupted
            await connection.execute(SQL("DROP INDEX CONCURRENTLY {}").format(Identifier(name)))
        await _build(connection, embedder)
    return True


async def _build(connection: Connection, embedder: StoredEmbedder) -> None:
    settings = {"statement_timeout": "0", "maintenance_work_mem": INDEX_MEMORY}
    settings["max_parallel_maintenance_workers"] = "0"  # more would need shared memory that containers lack
    for setting, value in settings.items():
        await connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
    try:
        await connection.execute(
            SQL(
                "CREATE INDEX CONCURRENTLY {} ON chunk_embeddings"
                " USING hnsw ((embedding::halfvec({})) halfvec_cosine_ops)"
                " WITH (ef_construction = 200) WHERE embedder_id = {}"
            ).format(
                _index_name(embedder.embedder_id),
                Literal(embedder.dimensions),
                Literal(embedder.embedder_id),
            )
        )
    finally:
        await connection.execute("RESET maintenance_work_mem")
        await connection.execute("RESET max_parallel_maintenance_workers")
        await connection.execute("SET statement_timeout = '30s'")


async def calibrate(source: Pool, embedder: StoredEmbedder, model: Embedder) -> None:
    """Measure the similarities of unrelated texts under this embedder, and store their quantiles.

    The built-in questions are compared with a sample of stored chunks of all accounts, of which nothing but
    the quantiles is kept; the built-in passages stand in while there are few.

    Raises:
        RetrievalUnavailable, EmbeddingRejected: the model gave no vectors.
    """
    questions, passages = background()
    stored = await _vectors_of(source, embedder)
    texts = (*questions, *(passages if stored < LEAST_SAMPLE else ()))
    vectors = await model.embed(texts, model=embedder.model, dimensions=embedder.asked_dimensions)
    values = {
        "embedder_id": embedder.embedder_id,
        "sample": SAMPLE,
        "questions": [vector_text(vector) for vector in vectors[: len(questions)]],
        "passages": [vector_text(vector) for vector in vectors[len(questions) :]],
        "shares": list(SHARES),
    }
    async with checkout(source) as connection:
        await connection.execute(BACKGROUND, values)


async def calibrate_when_grown(source: Pool, embedder: StoredEmbedder, model: Embedder) -> bool:
    """Calibrate when that was never done, or with less than a quarter of what is stored now."""
    stored = await _vectors_of(source, embedder)
    if embedder.quantiles and (stored < 4 * embedder.calibrated_chunks or stored < LEAST_SAMPLE):
        return False
    await calibrate(source, embedder, model)
    return True


async def held_active(connection: Connection) -> int | None:
    """The active embedder's id, which cannot change before this transaction ends."""
    row = await (await connection.execute(ACTIVE_FOR_SHARE)).fetchone()
    return row[0] if row else None


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it, with the four digits that a half-precision number has, and one more."""
    return "[" + ",".join(f"{number:.5g}" for number in vector) + "]"


async def _vectors_of(source: Pool, embedder: StoredEmbedder) -> int:
    async with checkout(source) as connection:
        row = await (await connection.execute(VECTORS_OF, (embedder.embedder_id,))).fetchone()
    assert row is not None  # noqa: S101  # a count is a row
    return int(row[0])


def _index_name(embedder_id: int) -> Identifier:
    return Identifier(f"hnsw_{embedder_id}")


def _embedder(row: Sequence[Any]) -> StoredEmbedder:
    embedder_id, model, dimensions, asked, quantiles, calibrated_chunks = row
    return StoredEmbedder(
        embedder_id=embedder_id,
        model=model,
        dimensions=dimensions,
        asked_dimensions=asked,
        quantiles=tuple(quantiles or ()),
        calibrated_chunks=calibrated_chunks,
    )
