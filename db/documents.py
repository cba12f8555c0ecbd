"""Documents and the search over their chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from db.pool import Pool, checkout
from worker.errors import RetrievalUnavailable, StorageUnavailable
from worker.model import Passage

SEARCH: Final = """
    WITH asked AS (
        SELECT array_agg(DISTINCT lexeme) AS words
        FROM unnest(to_tsvector('simple', %(query)s)) WHERE length(lexeme) > 2
    ), found AS (
        SELECT c.document_id, c.number, c.text,
               (SELECT count(*) FROM unnest(asked.words) AS word
                 WHERE c.words @@ quote_literal(word)::tsquery)::float8
               / cardinality(asked.words) AS similarity
        FROM chunks c, asked
        WHERE c.user_id = %(user_id)s
          AND c.words @@ (
              SELECT string_agg(quote_literal(word), ' | ')::tsquery FROM unnest(asked.words) AS word)
    )
    SELECT document_id, number, title, text, similarity, metadata
    FROM found JOIN documents d ON d.id = document_id AND d.user_id = %(user_id)s
    ORDER BY similarity DESC, document_id, number LIMIT %(limit)s
"""
INSERT_DOCUMENT: Final = """
    INSERT INTO documents (user_id, title, source, content_hash) VALUES (%s, %s, %s, %s)
    ON CONFLICT (user_id, content_hash) DO NOTHING RETURNING id
"""
INSERT_CHUNK: Final = "INSERT INTO chunks (document_id, number, user_id, text) VALUES (%s, %s, %s, %s)"


class PostgresRetriever:
    """``worker.ports.Retriever`` over Postgres full text.

    The similarity is the share of the query's distinct words of three or more letters that a chunk holds.
    """

    def __init__(self, source: Pool) -> None:
        self._source = source

    async def search(self, user_id: str, query: str, limit: int) -> tuple[Passage, ...]:
        """Up to ``limit`` passages of this account, best first."""
        values = {"user_id": user_id, "query": query[:2000], "limit": limit}
        try:
            async with checkout(self._source) as connection:
                rows = await (await connection.execute(SEARCH, values)).fetchall()
        except StorageUnavailable as error:
            raise RetrievalUnavailable(str(error), kind=error.kind) from error
        return tuple(_passage(row) for row in rows)


def _passage(row: Sequence[Any]) -> Passage:
    document_id, number, title, text, similarity, metadata = row
    return Passage(
        passage_id=f"{document_id}#{number}",
        title=title,
        text=text,
        similarity=float(similarity),
        metadata=metadata,
    )


async def add_text(source: Pool, user_id: str, title: str, paragraphs: Sequence[str]) -> bool:
    """Store a document, one chunk a paragraph; False when the account has the very same one."""
    content_hash = hashlib.sha256("\n\n".join((title, *paragraphs)).encode()).hexdigest()
    async with checkout(source) as connection, connection.transaction():
        cursor = await connection.execute(INSERT_DOCUMENT, (user_id, title, "", content_hash))
        row = await cursor.fetchone()
        if row is None:
            return False
        for number, paragraph in enumerate(paragraphs, 1):
            await connection.execute(INSERT_CHUNK, (row[0], number, user_id, paragraph))
    return True
