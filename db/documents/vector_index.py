"""The HNSW index of a stored embedding model."""

from __future__ import annotations

from typing import Final

from psycopg.sql import SQL, Identifier, Literal

from db.connection import Connection
from db.documents.embedding_models import StoredEmbedder
from db.pool import Pool, checkout

EXACT_NUMBERS: Final = 10_000_000
"""Numbers (vectors times dimensions) of one account up to which all are compared: about 20 ms, see
``docs/retrieval.md``."""
INDEX_MEMORY: Final = "512MB"
LARGEST: Final = """
    SELECT coalesce(max(vectors), 0) FROM (
        SELECT count(*) AS vectors FROM chunk_embeddings WHERE embedder_id = %s GROUP BY user_id) AS counted
"""
MAY_INDEX: Final = """
    SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'chunk_embeddings'::regclass
"""
"""The owner of the table alone may index it."""
INDEX_VALID: Final = """
    SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = %s AND i.indrelid = 'chunk_embeddings'::regclass
"""


async def ensure_index(source: Pool, embedder: StoredEmbedder, *, least: int = EXACT_NUMBERS) -> bool:
    """Build the HNSW index once an account has more than ``least`` numbers; True when it was built now.

    A login that does not own the table builds none: the next ``documents add`` of the owner does.
    """
    name = f"hnsw_{embedder.embedder_id}"
    async with checkout(source) as connection:
        owner = await (await connection.execute(MAY_INDEX)).fetchone()
        if not (owner and owner[0]):
            return False
        largest = await (await connection.execute(LARGEST, (embedder.embedder_id,))).fetchone()
        valid = await (await connection.execute(INDEX_VALID, (name,))).fetchone()
        if (valid and valid[0]) or largest is None or largest[0] * embedder.dimensions <= least:
            return False
        if valid:  # left by an interrupted build
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
                index_name(embedder.embedder_id), Literal(embedder.dimensions), Literal(embedder.embedder_id)
            )
        )
    finally:
        await connection.execute("RESET maintenance_work_mem")
        await connection.execute("RESET max_parallel_maintenance_workers")
        await connection.execute("SET statement_timeout = '30s'")


def index_name(embedder_id: int) -> Identifier:
    """The name of an embedder's HNSW index."""
    return Identifier(f"hnsw_{embedder_id}")
