"""Documents of an account: storing, replacing, listing and removing them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from psycopg.types.json import Jsonb

from db.access_log import LogEntry, append_entry
from db.connection import Connection
from db.documents.embedding_models import StoredEmbedder, locked_active_embedder
from db.documents.stored_vectors import insert_vectors
from db.pool import Pool, checkout, fetch_dicts, fetch_rows
from db.rows import first_value
from worker.documents.chunking import CHUNKING_VERSION
from worker.documents.model import Chunk, DocumentFormat, Note
from worker.documents.words import search_words
from worker.errors import ConfigurationError

LONG: Final = "SET LOCAL statement_timeout = '120s'"
"""The largest document has thousands of chunks, which take longer than a page may wait for a statement."""
SERIALISE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('documents:' || %(user_id)s, 0))"
SAME_CONTENT: Final = """
    SELECT id, source, metadata FROM documents
    WHERE user_id = %(user_id)s AND content_hash = %(content_hash)s
"""
SAME_SOURCE: Final = """
    DELETE FROM documents WHERE user_id = %(user_id)s AND source = %(source)s AND source <> ''
    RETURNING id, metadata
"""
RELABEL: Final = """
    UPDATE documents SET metadata = %(labels)s WHERE user_id = %(user_id)s AND id = %(document_id)s
"""
INSERT_DOCUMENT: Final = """
    INSERT INTO documents (user_id, title, source, content_hash, metadata, format, size_bytes,
                           notes, pages)
    VALUES (%(user_id)s, %(title)s, %(source)s, %(content_hash)s, %(labels)s, %(format)s, %(size_bytes)s,
            %(notes)s, %(pages)s)
    RETURNING id
"""
INSERT_FILE: Final = """
    INSERT INTO document_files (document_id, user_id, data) VALUES (%(document_id)s, %(user_id)s, %(data)s)
"""
FILE: Final = """
    SELECT data FROM document_files WHERE user_id = %(user_id)s AND document_id = %(document_id)s
"""
INSERT_CHUNKS: Final = """
    INSERT INTO chunks (document_id, number, user_id, title, text, start_char, end_char, page, lexemes, flags)
    SELECT %(document_id)s, number, %(user_id)s, title, text, start, finish, page,
           hushgate_word_vector(string_to_array(words, ' ')),
           ARRAY(SELECT jsonb_array_elements_text(flags))
    FROM unnest(%(numbers)s::int[], %(titles)s::text[], %(texts)s::text[], %(starts)s::int[], %(ends)s::int[],
                %(pages)s::int[], %(words)s::text[], %(flags)s::jsonb[])
         AS c (number, title, text, start, finish, page, words, flags)
"""
LISTED: Final = """
    SELECT d.id, d.title, d.source, d.format, d.size_bytes, d.metadata AS labels, d.created_at,
           d.notes, d.pages,
           count(c.number) AS chunks, count(v.number) AS vectors,
           count(c.number) FILTER (WHERE c.flags <> '{}' AND c.released_at IS NULL) AS held_back
    FROM documents d
    LEFT JOIN chunks c ON c.user_id = %(user_id)s AND c.document_id = d.id
    LEFT JOIN chunk_embeddings v
        ON v.user_id = %(user_id)s AND v.document_id = c.document_id AND v.number = c.number
       AND v.embedder_id = (SELECT id FROM embedders WHERE state = 'active')
    WHERE d.user_id = %(user_id)s AND d.metadata @> %(labels)s
    GROUP BY d.id ORDER BY d.id
"""
CHUNKS: Final = """
    SELECT number, title, text, page, start_char, end_char,
           flags <> '{}' AND released_at IS NULL AS is_held_back
    FROM chunks WHERE user_id = %(user_id)s AND document_id = %(document_id)s
    ORDER BY number LIMIT %(limit)s
"""
CHUNKS_OF_PAGE: Final = """
    SELECT number, title, text, page, start_char, end_char,
           flags <> '{}' AND released_at IS NULL AS is_held_back
    FROM chunks c WHERE user_id = %(user_id)s AND document_id = %(document_id)s
      AND (page = %(page)s
           OR number = (SELECT max(number) FROM chunks
                        WHERE user_id = %(user_id)s AND document_id = %(document_id)s AND page < %(page)s))
    ORDER BY number
"""
REMOVE: Final = (
    "DELETE FROM documents WHERE user_id = %(user_id)s AND id = ANY(%(document_ids)s) RETURNING id"
)
ACCOUNTS: Final = "SELECT user_id FROM ai_rules UNION SELECT user_id FROM documents ORDER BY user_id LIMIT 20"


class UploadOutcome(StrEnum):
    """The outcome of an upload."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    RELABELLED = "relabelled"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A document to store, before it is parsed.

    Attributes:
        source: where it came from; a later upload from the same source replaces it. Empty: never replaced.
        content_hash: from ``content_hash``.
        labels: text to text; None keeps those of the replaced document.
    """

    user_id: str
    source: str
    content_hash: str
    format: DocumentFormat
    size_bytes: int
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Vectors of a document's chunks, in order, and the model that made them."""

    embedder: StoredEmbedder
    vectors: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """The outcome of an upload; for a duplicate, the id of the document that it repeats."""

    outcome: UploadOutcome
    document_id: int


def content_hash(data: bytes, *, title: str = "") -> str:
    """SHA-256, hex, of content, title and chunking version; equal hashes mean equal chunks."""
    head = f"{CHUNKING_VERSION}\0{title}\0".encode("utf-8", "surrogatepass")
    return hashlib.sha256(head + data).hexdigest()


EntryOfUpload: TypeAlias = Callable[[StoredDocument], LogEntry]
"""The line of the access log for what an upload led to, stored in its transaction."""


async def known_upload(
    source: Pool, upload: Upload, logged: EntryOfUpload | None = None
) -> StoredDocument | None:
    """The outcome of an upload whose content is already stored; None when it must be parsed and stored."""
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(SERIALISE, {"user_id": upload.user_id})
        known = await _known_outcome(connection, upload)
        if known is not None and logged is not None:
            await append_entry(connection, logged(known))
        return known


async def store_document(
    source: Pool,
    upload: Upload,
    data: bytes,
    *,
    title: str,
    chunks: Sequence[Chunk],
    embedded: Embedded | None,
    flags: Sequence[Sequence[str]] = (),
    notes: Sequence[Note] = (),
    pages: int = 0,
    logged: EntryOfUpload | None = None,
) -> StoredDocument:
    """Store a document, replacing an earlier document of the same source, in one transaction.

    ``flags`` are the checks that each chunk fails, in the order of the chunks; empty: none was made.
    ``notes`` are what its reader noticed.

    Raises:
        ConfigurationError: another embedder became active since the vectors were made.
    """
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LONG)
        await connection.execute(SERIALISE, {"user_id": upload.user_id})
        if known := await _known_outcome(connection, upload):
            if logged is not None:
                await append_entry(connection, logged(known))
            return known
        active = await locked_active_embedder(connection)
        if embedded and embedded.embedder.embedder_id != active:
            raise ConfigurationError("another embedder became active: run the command again")
        labels = upload.labels
        cursor = await connection.execute(SAME_SOURCE, asdict(upload))
        if replaced := await cursor.fetchone():
            labels = replaced[1] if labels is None else labels
        values = asdict(upload) | {"title": title, "labels": Jsonb(dict(labels or {}))}
        values |= {"notes": Jsonb([asdict(note) for note in notes]), "pages": pages}
        document_id = await _insert(connection, values, chunks, flags)
        file = {"document_id": document_id, "user_id": upload.user_id, "data": data}
        await connection.execute(INSERT_FILE, file)
        if embedded:
            keys = ((upload.user_id, document_id, chunk.number) for chunk in chunks)
            await insert_vectors(connection, embedded.embedder, keys, embedded.vectors)
        outcome = UploadOutcome.REPLACED if replaced else UploadOutcome.ADDED
        stored = StoredDocument(outcome=outcome, document_id=document_id)
        if logged is not None:
            await append_entry(connection, logged(stored))
    return stored


async def list_documents(
    source: Pool, user_id: str, labels: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """An account's documents with all of these labels, oldest first, with counts of chunks and vectors."""
    values = {"user_id": user_id, "labels": Jsonb(dict(labels or {}))}
    return await fetch_dicts(source, LISTED, values)


async def list_chunks(source: Pool, user_id: str, document_id: int, *, limit: int) -> list[dict[str, Any]]:
    """The first passages of a document, in order."""
    values = {"user_id": user_id, "document_id": document_id, "limit": limit}
    return await fetch_dicts(source, CHUNKS, values)


async def list_page_chunks(source: Pool, user_id: str, document_id: int, page: int) -> list[dict[str, Any]]:
    """Passages that start on a page, after the passage before them, which may end on that page."""
    values = {"user_id": user_id, "document_id": document_id, "page": page}
    return await fetch_dicts(source, CHUNKS_OF_PAGE, values)


async def document_file(source: Pool, user_id: str, document_id: int) -> bytes:
    """The document as it came; empty when the account has no such document."""
    values = {"user_id": user_id, "document_id": document_id}
    async with checkout(source) as connection:
        row = await (await connection.cursor(binary=True).execute(FILE, values)).fetchone()
    return row[0] if row else b""


async def remove_documents(
    source: Pool, user_id: str, document_ids: Sequence[int], *, logged: LogEntry | None = None
) -> tuple[int, ...]:
    """Remove documents with chunks and vectors; the removed ids."""
    values = {"user_id": user_id, "document_ids": list(document_ids)}
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LONG)
        await connection.execute(SERIALISE, {"user_id": user_id})
        rows = await (await connection.execute(REMOVE, values)).fetchall()
        if rows and logged is not None:
            await append_entry(connection, logged)
    return tuple(sorted(row[0] for row in rows))


async def list_accounts(source: Pool) -> tuple[str, ...]:
    """The accounts that have settings or documents; the first 20 by name."""
    return tuple(user_id for (user_id,) in await fetch_rows(source, ACCOUNTS))


async def add_text_document(source: Pool, user_id: str, title: str, paragraphs: Sequence[str]) -> bool:
    """Store a text, one chunk a paragraph, without vectors; False when the account already has it."""
    data = "\n\n".join(paragraphs).encode()
    upload = Upload(
        user_id=user_id,
        source="",
        content_hash=content_hash(data, title=title),
        format=DocumentFormat.TEXT,
        size_bytes=len(data),
    )
    chunks, start = [], 0
    for number, text in enumerate(paragraphs, 1):
        end = start + len(text)
        chunks.append(Chunk(number=number, title=title, text=text, start=start, end=end))
        start = end + 2
    stored = await store_document(source, upload, data, title=title, chunks=chunks, embedded=None)
    return stored.outcome is UploadOutcome.ADDED


async def _known_outcome(connection: Connection, upload: Upload) -> StoredDocument | None:
    row = await (await connection.execute(SAME_CONTENT, asdict(upload))).fetchone()
    if row is None:
        return None
    document_id, known_source, known_labels = row
    if known_source != upload.source:
        await connection.execute(SAME_SOURCE, asdict(upload))
        return StoredDocument(outcome=UploadOutcome.DUPLICATE, document_id=document_id)
    if upload.labels is None or known_labels == dict(upload.labels):
        return StoredDocument(outcome=UploadOutcome.UNCHANGED, document_id=document_id)
    values = {"user_id": upload.user_id, "document_id": document_id, "labels": Jsonb(dict(upload.labels))}
    await connection.execute(RELABEL, values)
    return StoredDocument(outcome=UploadOutcome.RELABELLED, document_id=document_id)


async def _insert(
    connection: Connection,
    values: Mapping[str, Any],
    chunks: Sequence[Chunk],
    flags: Sequence[Sequence[str]],
) -> int:
    document_id = int(await first_value(connection, INSERT_DOCUMENT, values))
    columns = {
        "document_id": document_id,
        "user_id": values["user_id"],
        "numbers": [chunk.number for chunk in chunks],
        "titles": [chunk.title for chunk in chunks],
        "texts": [chunk.text for chunk in chunks],
        "starts": [chunk.start for chunk in chunks],
        "ends": [chunk.end for chunk in chunks],
        "pages": [chunk.page for chunk in chunks],
        "words": [" ".join(search_words(chunk.whole)) for chunk in chunks],
        "flags": [Jsonb(list(each)) for each in flags or [()] * len(chunks)],
    }
    await connection.execute(INSERT_CHUNKS, columns)  # one statement: its trigger counts words once
    return document_id
