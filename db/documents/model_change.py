"""Changing the embedding model: one at a time, activated when every chunk has its vector."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from psycopg.sql import SQL

from db.documents import embedding_models, stored_vectors, vector_index
from db.documents.account_screening import AccountScreening
from db.documents.embedding_models import StoredEmbedder
from db.documents.ingest import EmbeddingModel, embed_texts
from db.documents.stored_vectors import has_chunks_without_vector
from db.documents.vector_index import index_name
from db.pool import Pool, checkout
from db.rows import first_value
from db.sessions.pooler import require_session
from worker.errors import ConfigurationError

LOCK_EMBEDDERS: Final = "SELECT FROM embedders FOR NO KEY UPDATE"
RETIRE: Final = "UPDATE embedders SET state = 'retired' WHERE state = 'active' AND id <> %s"
ACTIVATE: Final = (
    "UPDATE embedders SET state = 'active', activated_at = now() WHERE id = %s AND state = 'building'"
)
UNUSED: Final = "SELECT id FROM embedders WHERE state <> 'active'"
LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('hushgate re-embedding', 0))"
UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended('hushgate re-embedding', 0))"
DROP_VECTORS: Final = "DELETE FROM chunk_embeddings WHERE embedder_id = %s"
DROP_EMBEDDER: Final = "DELETE FROM embedders WHERE id = %s AND state <> 'active'"


async def activate_embedder(source: Pool, embedder: StoredEmbedder) -> bool:
    """Let searches use an embedder; False while chunks still lack its vectors."""
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_EMBEDDERS)  # first, as each upload does
        await connection.execute("LOCK TABLE chunks IN SHARE MODE")
        if await has_chunks_without_vector(connection, embedder.embedder_id):
            return False
        await connection.execute(RETIRE, (embedder.embedder_id,))
        await connection.execute(ACTIVATE, (embedder.embedder_id,))
    return True


@asynccontextmanager
async def reembedding_lock(source: Pool) -> AsyncIterator[None]:
    """Prevent a second re-embedding of this database at the same time.

    Raises:
        ConfigurationError: another one is running.
    """
    async with checkout(source) as connection:
        await require_session(connection, "re-embedding")
        if not await first_value(connection, LOCK):
            raise ConfigurationError("a re-embedding is already running: wait until it ends")
        try:
            yield
        finally:
            await connection.execute(UNLOCK)


async def drop_unused(source: Pool) -> int:
    """Remove embedders that are not active, with index and vectors; how many."""
    async with checkout(source) as connection:
        rows = await (await connection.execute(UNUSED)).fetchall()
        for (embedder_id,) in rows:
            await connection.execute(
                SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(index_name(embedder_id))
            )
            async with connection.transaction():
                await connection.execute("SET LOCAL statement_timeout = 0")
                await connection.execute(DROP_VECTORS, (embedder_id,))
                await connection.execute(DROP_EMBEDDER, (embedder_id,))
    return len(rows)


async def reembed_chunks(
    source: Pool, model: EmbeddingModel, *, batch: int = 128
) -> AsyncGenerator[tuple[int, int], None]:
    """Store a vector of the model for every chunk, then activate it; yields (done, total) after each batch.

    An interrupted run keeps its vectors; searches use the old ones until the end.
    """
    async with reembedding_lock(source):
        probe = await embed_texts(model, ["How long is a vector of this model?"])
        target = await embedding_models.get_or_create_embedder(
            source, model.name, len(probe[0]), model.dimensions
        )
        while True:
            async for step in _embed_missing(source, model, target, batch):
                yield step
            await vector_index.ensure_index(source, target)
            if await activate_embedder(source, target):
                break
        await drop_unused(source)


async def _embed_missing(
    source: Pool, model: EmbeddingModel, target: embedding_models.StoredEmbedder, batch: int
) -> AsyncGenerator[tuple[int, int], None]:
    """Store missing vectors in the order of chunks; yields (done, total) after each batch."""
    after, texts = (0, 0), AccountScreening(source)
    while some := await stored_vectors.chunks_without_vector(source, target, after=after, limit=batch):
        vectors = await embed_texts(model, [await texts.masked(chunk.user_id, chunk.whole) for chunk in some])
        await stored_vectors.store_vectors(source, target, some, vectors)
        after = (some[-1].document_id, some[-1].number)
        whole, done = await stored_vectors.count_vectors(source, target)
        yield done, whole
