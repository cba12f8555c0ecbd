"""Files into documents: read, cut, embedded and stored, one after the other, each with its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from db import documents, embedders
from db.documents import Embedded, Outcome, Stored, Upload
from db.pool import Pool
from worker.adapters import pdf_process
from worker.documents import reading
from worker.documents.chunking import chunks
from worker.documents.model import Chunk, Format, Parsed
from worker.errors import ConfigurationError, DocumentRejected, RetrievalUnavailable
from worker.ports import Embedder

MOST_BYTES: Final = 50 * 1024 * 1024
MOST_CHARS: Final = 10_000_000
TOO_LARGE: Final = f"is larger than {MOST_BYTES // 1024**2} MiB: split it"
ATTEMPTS: Final = 5
PIPE: Final = "-"
"""What is shown where a document came from nowhere that has a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The embedding model of this deployment, as its settings name it."""

    embedder: Embedder
    name: str
    dimensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person said about the documents to add; empty fields say nothing."""

    user_id: str
    title: str = ""
    source: str = ""
    kind: Format | None = None
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A document as it is handed in.

    Attributes:
        name: its ending tells the format, and it stands in for a title; empty for a pipe or a pasted text.
        source: where it came from; a later file from there replaces it. Empty: nothing does.
    """

    name: str
    source: str
    data: bytes


class Ingest:
    """Adds documents of one account; the model's vectors go with them when there is one."""

    def __init__(self, source: Pool, model: Model | None, wanted: Wanted) -> None:
        self._source = source
        self._model = model
        self._wanted = wanted
        self._stored_embedder: embedders.StoredEmbedder | None = None

    async def add(self, file: File) -> dict[str, Any]:
        """One file's outcome as a row; a document that cannot be read is refused by name."""
        name = self._wanted.source or file.source or PIPE
        try:
            stored, count = await self._add(file)
        except DocumentRejected as error:
            return refused(name, error)
        return {
            "source": name,
            "outcome": stored.outcome.value,
            "document_id": stored.document_id,
            "chunks": count,
            "reason": "",
        }

    async def finish(self) -> None:
        """What is worth doing once after many documents: calibration and index."""
        if self._model and self._stored_embedder:
            await embedders.calibrate_when_grown(self._source, self._stored_embedder, self._model.embedder)
            await embedders.ensure_index(self._source, self._stored_embedder)

    async def _add(self, file: File) -> tuple[Stored, int | None]:
        if len(file.data) > MOST_BYTES:
            raise DocumentRejected(TOO_LARGE)
        kind = self._wanted.kind or reading.format_of(file.name, file.data)
        if kind is None:
            raise DocumentRejected(f"is no document that can be read ({', '.join(reading.SUFFIXES)})")
        upload = Upload(
            user_id=self._wanted.user_id,
            source=self._wanted.source or file.source,
            content_hash=documents.content_hash(file.data, title=self._wanted.title),
            format=kind,
            size_bytes=len(file.data),
            labels=self._wanted.labels,
        )
        if known := await documents.settled(self._source, upload):
            return known, None
        parsed = await _parsed(file.data, kind)
        title = self._wanted.title or parsed.title or PurePath(file.name).stem.replace("_", " ")
        cut = await asyncio.to_thread(chunks, parsed, title=title)
        embedded = await self._embedded(cut) if self._model else None
        stored = await documents.store(self._source, upload, title=title, chunks=cut, embedded=embedded)
        return stored, len(cut)

    async def _embedded(self, cut: Sequence[Chunk]) -> Embedded:
        assert self._model is not None  # noqa: S101  # the caller has looked
        active = self._stored_embedder or await check(self._source, self._model)
        vectors = await vectors_of(self._model, [chunk.whole for chunk in cut])
        if active is not None and len(vectors[0]) == active.dimensions:
            self._stored_embedder = active
        if self._stored_embedder is None:
            self._stored_embedder = await embedders.found_or_made(
                self._source, self._model.name, len(vectors[0]), self._model.dimensions
            )
            await refuse_another(self._source, self._stored_embedder)
        return Embedded(embedder=self._stored_embedder, vectors=vectors)


async def check(source: Pool, model: Model) -> embedders.StoredEmbedder | None:
    """The active embedder, if any; a model of another name or length is refused before anything is paid.

    Raises:
        ConfigurationError: with the way to re-embed.
    """
    active = await embedders.active(source)
    if active is None:
        return None
    if active.model != model.name or model.dimensions not in (0, active.dimensions):
        asked = f"{model.name} of {model.dimensions or 'its own number of'} dimensions"
        raise another(asked, active)
    return active


async def refuse_another(source: Pool, embedder: embedders.StoredEmbedder) -> None:
    """Refuse an embedder that is not the active one.

    Raises:
        ConfigurationError: with the way to re-embed.
    """
    active = await embedders.active(source)
    if active is not None and active.embedder_id != embedder.embedder_id:
        raise another(f"{embedder.model} of {embedder.dimensions} dimensions", active)


def another(asked: str, active: embedders.StoredEmbedder) -> ConfigurationError:
    """The refusal of an embedder that is not the stored one, and what to do."""
    return ConfigurationError(
        f"the settings name {asked}, the stored vectors are of {active.model} with {active.dimensions}:"
        " vectors of two models cannot be compared. To change over, run `hushgate documents reembed`"
        " (searches use the old vectors until it is done), or set HUSHGATE_EMBEDDING_MODEL back"
    )


async def vectors_of(model: Model, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """Vectors of texts; what can pass by itself is tried five times, waiting as long as the server asks.

    Raises:
        RetrievalUnavailable: the last try failed too.
        EmbeddingRejected: the server refuses the request as such.
    """
    async for attempt in AsyncRetrying(
        retry=retry_if_exception_type(RetrievalUnavailable),
        stop=stop_after_attempt(ATTEMPTS),
        wait=_wait_s,
        reraise=True,
    ):
        with attempt:
            return await model.embedder.embed(texts, model=model.name, dimensions=model.dimensions)
    raise AssertionError  # reraise=True: the loop returns or raises


def refused(name: str, error: DocumentRejected) -> dict[str, Any]:
    """The row of a document that was not stored."""
    outcome = Outcome.REFUSED.value
    return {"source": name, "outcome": outcome, "document_id": None, "chunks": None, "reason": str(error)}


async def reembedded(
    source: Pool, model: Model, *, batch: int = 128
) -> AsyncGenerator[tuple[int, int], None]:
    """Give every chunk a vector of the model, then let searches use it; (done, all) after each batch.

    What is done stays done when it is interrupted; the old vectors serve until the last moment.
    """
    async with embedders.alone(source):
        probe = await vectors_of(model, ["How long is a vector of this model?"])
        target = await embedders.found_or_made(source, model.name, len(probe[0]), model.dimensions)
        while True:
            async for step in _filled(source, model, target, batch):
                yield step
            await embedders.ensure_index(source, target)
            await embedders.calibrate(source, target, model.embedder)
            if await embedders.activate(source, target):
                break
        await embedders.drop_unused(source)


async def _filled(
    source: Pool, model: Model, target: embedders.StoredEmbedder, batch: int
) -> AsyncGenerator[tuple[int, int], None]:
    """Vectors for the chunks that lack them, from the first to the last; (done, all) after each batch."""
    after = (0, 0)
    while some := await embedders.missing(source, target, after=after, limit=batch):
        vectors = await vectors_of(model, [chunk.whole for chunk in some])
        await embedders.store_vectors(source, target, some, vectors)
        after = (some[-1].document_id, some[-1].number)
        whole, done = await embedders.counts(source, target)
        yield done, whole


def _wait_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_s = error.retry_after_s if isinstance(error, RetrievalUnavailable) else None
    return max(asked_s or 0.0, 0.5 * 2.0**state.attempt_number)


async def _parsed(data: bytes, kind: Format) -> Parsed:
    if kind is Format.PDF:
        found = await pdf_process.parsed(data)
    else:
        found = await asyncio.to_thread(reading.parsed, data, kind)
    if sum(len(block.text) for block in found.blocks) > MOST_CHARS:
        raise DocumentRejected(f"holds more than {MOST_CHARS:,} characters: split it")
    return found
