"""Embedding models with stored vectors, and which of them searches use.

The login of the review pages may add the first one; only the owner of the tables may change them, on the
command line. The worker's role may read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from db.connection import Connection
from db.pool import Pool, checkout, fetch_rows
from db.rows import first_value
from worker.errors import ConfigurationError

MOST_DIMENSIONS: Final = 4000
"""Longest ``halfvec`` that pgvector 0.8 indexes."""
SERVER_VERSION: Final = "SELECT current_setting('server_version_num')::integer / 10000"
HAS_PGVECTOR: Final = (
    "SELECT EXISTS (SELECT FROM pg_type WHERE oid = to_regtype('halfvec') AND typtype = 'b')"
)
"""Without the extension the type is a domain."""
COLUMNS: Final = "id, model, dimensions, asked_dimensions"
ACTIVE: Final = f"SELECT {COLUMNS} FROM embedders WHERE state = 'active'"
ACTIVE_FOR_SHARE: Final = "SELECT id FROM embedders WHERE state = 'active' FOR SHARE"
CREATE: Final = f"""
    INSERT INTO embedders (model, dimensions, asked_dimensions, state) VALUES (%s, %s, %s, 'building')
    ON CONFLICT (model, dimensions) DO UPDATE
        SET asked_dimensions = excluded.asked_dimensions,
            state = CASE embedders.state WHEN 'active' THEN 'active' ELSE 'building' END
    RETURNING {COLUMNS}
"""
CREATE_FIRST: Final = """
    INSERT INTO embedders (model, dimensions, asked_dimensions, state, activated_at)
    VALUES (%s, %s, %s, 'active', now()) ON CONFLICT DO NOTHING
"""
"""Changes nothing where an embedder is active, and needs no right to update."""
FIRST: Final = """
    UPDATE embedders SET state = 'active', activated_at = now()
    WHERE id = %s AND NOT EXISTS (SELECT FROM embedders WHERE state = 'active')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEmbedder:
    """A model whose vectors are stored.

    Attributes:
        dimensions: numbers in a vector.
        asked_dimensions: sent in requests; 0: not sent.
    """

    embedder_id: int
    model: str
    dimensions: int
    asked_dimensions: int


async def has_pgvector(source: Pool) -> bool:
    """Whether the database can store vectors."""
    ((found,),) = await fetch_rows(source, HAS_PGVECTOR)
    return bool(found)


async def no_pgvector(source: Pool) -> str:
    """What is missing in a database that cannot store vectors, and the package of its version."""
    ((version,),) = await fetch_rows(source, SERVER_VERSION)
    return (
        "this Postgres has no pgvector 0.8 or later; install its package (apt.postgresql.org:"
        f" postgresql-{version}-pgvector for Postgres {version}) and run `hushgate migrate`"
    )


async def active_embedder(source: Pool) -> StoredEmbedder | None:
    """The embedder that searches use; None while documents are searched by words only."""
    rows = await fetch_rows(source, ACTIVE)
    return stored_embedder(rows[0]) if rows else None


async def get_or_create_embedder(source: Pool, model: str, dimensions: int, requested: int) -> StoredEmbedder:
    """The embedder of this name and length; active from now on when no embedder was active.

    Raises:
        ConfigurationError: its vectors are too long to index.
    """
    _require_indexable(model, dimensions)
    async with checkout(source) as connection, connection.transaction():
        row = await (await connection.execute(CREATE, (model, dimensions, requested))).fetchone()
        assert row is not None  # INSERT ... RETURNING gives a row or raises
        await connection.execute(FIRST, (row[0],))
    return stored_embedder(row)


async def create_first_embedder(source: Pool, model: str, dimensions: int, requested: int) -> StoredEmbedder:
    """The active embedder: of this model when no embedder was active, else possibly of another model.

    Raises:
        ConfigurationError: its vectors are too long to index.
    """
    _require_indexable(model, dimensions)
    async with checkout(source) as connection:
        await connection.execute(CREATE_FIRST, (model, dimensions, requested))
    active = await active_embedder(source)
    assert active is not None  # the first embedder is active, and another one replaces it in one transaction
    return active


async def locked_active_embedder(connection: Connection) -> int | None:
    """The active embedder's id, which cannot change before this transaction ends."""
    found: int | None = await first_value(connection, ACTIVE_FOR_SHARE)
    return found


def vector_text(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it, with five digits: one more than half precision has."""
    return "[" + ",".join(f"{number:.5g}" for number in vector) + "]"


def _require_indexable(model: str, dimensions: int) -> None:
    if dimensions > MOST_DIMENSIONS:
        raise ConfigurationError(
            f"{model} gives vectors of {dimensions} numbers, the index takes {MOST_DIMENSIONS}: "
            "set HUSHGATE_EMBEDDINGS_DIMENSIONS"
        )


def stored_embedder(row: Sequence[Any]) -> StoredEmbedder:
    """The embedder of a row of ``COLUMNS``."""
    return StoredEmbedder(**dict(zip(StoredEmbedder.__slots__, row, strict=True)))
