"""Adding files as documents: read, chunk, embed and store each, with its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from db.access_log import LogEntry
from db.documents import embedding_models, storage, vector_index
from db.documents.account_screening import AccountScreening
from db.documents.storage import Embedded, StoredDocument, Upload, UploadOutcome
from db.pool import Pool
from worker.adapters import document_process
from worker.adapters.document_process import Names
from worker.documents import reading
from worker.documents.model import WARNINGS, Chunk, DocumentFormat, Note
from worker.documents.notes import note_text
from worker.errors import ConfigurationError, DocumentRejected, EmbeddingRejected, RetrievalUnavailable
from worker.ports import Embedder, RetryPolicy

MOST_BYTES: Final = 50 * 1024 * 1024
TOO_LARGE: Final = f"is larger than {MOST_BYTES // 1024**2} MiB: split it"
RETRIES: Final = RetryPolicy(attempts=5, first_wait_s=1.0, longest_wait_s=float("inf"))
PIPE: Final = "-"
"""The source of a document from standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """The embedding model of this deployment.

    Attributes:
        automatic: no setting names it, so documents are stored without vectors when it fails.
    """

    embedder: Embedder
    name: str
    dimensions: int
    automatic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOptions:
    """Options for the documents to add; empty fields are not set."""

    user_id: str
    title: str = ""
    source: str = ""
    kind: DocumentFormat | None = None
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFile:
    """A file to add.

    Attributes:
        name: gives the format by its suffix, and the title when there is none; empty for standard input or
            pasted text.
        source: where it came from; a later file from the same source replaces it. Empty: never replaced.
    """

    name: str
    source: str
    data: bytes


EntryOfRow: TypeAlias = Callable[[Mapping[str, Any]], LogEntry]


class Ingest:
    """Adds documents of one account, with vectors when there is a model.

    Args:
        readers: limits how many documents are read at once; may be shared.
        logged: the line of the access log for the row of a document, in the document's transaction.

    Attributes:
        failure: why documents were stored without vectors, as the last error says; empty: no failure.
    """

    def __init__(
        self,
        source: Pool,
        model: EmbeddingModel | None,
        options: DocumentOptions,
        *,
        readers: asyncio.Semaphore | None = None,
        logged: EntryOfRow | None = None,
    ) -> None:
        self._logged = logged
        self._readers = readers or asyncio.Semaphore(1)
        self._source = source
        self._model = model
        self._options = options
        self._texts = AccountScreening(source)
        self._stored_embedder: embedding_models.StoredEmbedder | None = None
        self.failure = ""

    async def add(self, file: DocumentFile) -> dict[str, Any]:
        """Add one file; its outcome as a row, also when it cannot be read."""
        name = self._options.source or file.source or PIPE
        try:
            return await self._add(file, name)
        except DocumentRejected as error:
            return refused_row(name, error)

    async def finish(self) -> None:
        """Index, once after many documents."""
        if self._stored_embedder:
            await vector_index.ensure_index(self._source, self._stored_embedder)

    async def _add(self, file: DocumentFile, name: str) -> dict[str, Any]:
        """Read and store a file, unless it is stored already."""
        if len(file.data) > MOST_BYTES:
            raise DocumentRejected(TOO_LARGE)
        kind = self._options.kind or reading.document_format(file.name, file.data)
        if kind is None:
            raise DocumentRejected(f"is not a readable document ({', '.join(reading.SUFFIXES)})")
        upload = Upload(
            user_id=self._options.user_id,
            source=self._options.source or file.source,
            content_hash=storage.content_hash(file.data, title=self._options.title),
            format=kind,
            size_bytes=len(file.data),
            labels=self._options.labels,
        )
        row = partial(_row, name)
        if known := await storage.known_upload(self._source, upload, self._entry_of(row)):
            return row(known)
        names = Names(title=self._options.title, otherwise=PurePath(file.name).stem.replace("_", " "))
        async with self._readers:
            chunked = await document_process.cut(file.data, kind, names)
        flags = await self._texts.flags(self._options.user_id, chunked.chunks)
        row = partial(row, flags=flags, notes=chunked.notes)
        embedded = await self._embedded_if_possible(chunked.chunks) if self._model else None
        stored = await storage.store_document(
            self._source,
            upload,
            file.data,
            title=chunked.title,
            chunks=chunked.chunks,
            embedded=embedded,
            flags=flags,
            notes=chunked.notes,
            pages=chunked.pages,
            logged=self._entry_of(row),
        )
        return row(stored)

    def _entry_of(self, row: Callable[[StoredDocument], dict[str, Any]]) -> storage.EntryOfUpload | None:
        logged = self._logged
        return None if logged is None else lambda stored: logged(row(stored))

    async def _embedded_if_possible(self, chunks: Sequence[Chunk]) -> Embedded | None:
        """The vectors; None when a model that no setting names fails. It is not asked again."""
        assert self._model is not None  # checked by the caller
        if self.failure:
            return None
        try:
            return await self._embedded(chunks)
        except (RetrievalUnavailable, EmbeddingRejected) as error:
            if not self._model.automatic:
                raise
            self.failure = str(error)
            return None

    async def _embedded(self, chunks: Sequence[Chunk]) -> Embedded:
        model = self._model
        assert model is not None  # checked by the caller
        active = self._stored_embedder or await check_embedder(self._source, model)
        user_id = self._options.user_id
        texts = [await self._texts.masked(user_id, chunk.whole) for chunk in chunks]
        vectors = await embed_texts(model, texts)
        length = len(vectors[0])
        if active is None:
            active = await embedding_models.create_first_embedder(
                self._source, model.name, length, model.dimensions
            )
        if (active.model, active.dimensions) != (model.name, length):
            raise embedder_mismatch(f"{model.name} of {length} dimensions", active)
        self._stored_embedder = active
        return Embedded(embedder=active, vectors=vectors)


async def check_embedder(source: Pool, model: EmbeddingModel) -> embedding_models.StoredEmbedder | None:
    """The active embedder or None; a model of another name or length is refused before any request."""
    active = await embedding_models.active_embedder(source)
    if active is None:
        return None
    if active.model != model.name or model.dimensions not in (0, active.dimensions):
        configured = f"{model.name} of {model.dimensions or 'its own number of'} dimensions"
        raise embedder_mismatch(configured, active)
    return active


def embedder_mismatch(configured: str, active: embedding_models.StoredEmbedder) -> ConfigurationError:
    """The error for an embedder that differs from the stored one."""
    return ConfigurationError(
        f"the settings name {configured}, the stored vectors are of {active.model} with {active.dimensions}:"
        " vectors of two models cannot be compared. To change the model, run `hushgate documents reembed`"
        " (searches use the old vectors until it is done), or set HUSHGATE_EMBEDDINGS back"
    )


async def embed_texts(model: EmbeddingModel, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """Vectors of texts; temporary failures are tried five times, waiting as long as the server asks.

    Raises:
        RetrievalUnavailable: the last attempt failed.
        EmbeddingRejected: the server refuses the request.
    """
    attempt = 1
    while True:
        try:
            return await model.embedder.embed(texts, model=model.name, dimensions=model.dimensions)
        except RetrievalUnavailable as error:
            if (wait_s := RETRIES.wait_s(attempt, error.retry_after_s)) is None:
                raise
        await asyncio.sleep(wait_s)
        attempt += 1


def refused_row(name: str, error: DocumentRejected) -> dict[str, Any]:
    """The row of a document that was not stored."""
    return _row(name, None, reason=str(error))


def _row(
    name: str,
    stored: StoredDocument | None,
    *,
    flags: Sequence[Sequence[str]] | None = None,
    notes: Sequence[Note] = (),
    reason: str = "",
) -> dict[str, Any]:
    flagged = [{"part": part, "checks": list(checks)} for part, checks in enumerate(flags or (), 1) if checks]
    outcome = stored.outcome if stored else UploadOutcome.REFUSED
    row = {"source": name, "outcome": outcome.value, "document_id": stored and stored.document_id}
    warnings = [note_text(note) for note in notes if note.code in WARNINGS]
    left_out = [note_text(note) for note in notes if note.code not in WARNINGS]
    read = {"chunks": None if flags is None else len(flags), "warnings": warnings, "left_out": left_out}
    return row | read | {"flagged": flagged, "reason": reason}
