"""The embedding model of a deployment's settings, ready for requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from db.documents.embedding_models import active_embedder, has_pgvector
from db.documents.ingest import EmbeddingModel
from db.documents.retrieval import QUERY_TIMEOUT_S
from db.model_servers.stored import with_stored_servers
from db.pool import Pool
from worker.adapters.openai_http import ApiClient
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.ports import Embedder
from worker.settings import DocumentSettings, ModelServer

BATCH_TIMEOUT_S: Final = 60.0
"""Timeout of a request when documents are added; a search uses ``QUERY_TIMEOUT_S``."""


@asynccontextmanager
async def open_embedder(known: DocumentSettings, source: Pool) -> AsyncIterator[Embedder | None]:
    """What embeds queries; None where embeddings are switched off. Nothing is asked yet."""
    if (place := (await with_stored_servers(known, source)).servers.embeddings) is None:
        yield None
        return
    async with _client(place) as client:
        yield _embedder(client, QUERY_TIMEOUT_S)


@asynccontextmanager
async def open_model(known: DocumentSettings, source: Pool) -> AsyncIterator[EmbeddingModel | None]:
    """The model for documents: as set, else as in use, else one of the models that the server has.

    None where embeddings are switched off, where the database has no pgvector, and where no model is set and
    the server gives none or does not answer.
    """
    known = await with_stored_servers(known, source)
    if (place := known.servers.embeddings) is None or not await has_pgvector(source):
        yield None
        return
    async with _client(place) as client:
        name, dimensions = place.model, known.embeddings_dimensions
        if not name:
            name, dimensions = await _automatic(client, place, known, source)
        embedder = _embedder(client, BATCH_TIMEOUT_S)
        model = EmbeddingModel(embedder=embedder, name=name, dimensions=dimensions, automatic=not place.model)
        yield model if name else None


async def _automatic(
    client: ApiClient, place: ModelServer, known: DocumentSettings, source: Pool
) -> tuple[str, int]:
    """Name and requested dimensions of the model where none is set; without a name there is none."""
    if (active := await active_embedder(source)) is not None:
        return active.model, active.asked_dimensions
    from worker.adapters.embedding_probe import answering_model  # noqa: PLC0415  # as in _client

    dimensions = known.embeddings_dimensions
    try:
        found = await answering_model(client, place, dimensions=dimensions, timeout_s=QUERY_TIMEOUT_S)
    except (RetrievalUnavailable, EmbeddingRejected):
        return "", 0
    return (found[0], dimensions) if found else ("", 0)


@asynccontextmanager
async def _client(place: ModelServer) -> AsyncIterator[ApiClient]:
    from worker.adapters import openai_client  # noqa: PLC0415  # only with a model

    client = openai_client.client(place.url, place.key, connections=4)
    try:
        yield client
    finally:
        await client.close()


def _embedder(client: ApiClient, timeout_s: float) -> Embedder:
    from worker.adapters.openai_embeddings import OpenAIEmbedder  # noqa: PLC0415  # as in _client

    return OpenAIEmbedder(client, timeout_s=timeout_s)
