"""The embedding model of a deployment's settings, ready for requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from db.documents.ingest import EmbeddingModel
from worker import settings
from worker.settings import DocumentSettings

BATCH_TIMEOUT_S: Final = 60.0
"""Timeout of a request when documents are added; a search uses the timeout of the settings."""


@asynccontextmanager
async def open_model(
    known: DocumentSettings, *, patience_s: float = 0.0
) -> AsyncIterator[EmbeddingModel | None]:
    """The model, or None where the settings name none."""
    if not known.embedding_model:
        yield None
        return
    from worker.adapters import openai_client  # noqa: PLC0415  # a second of CPU, only with a model
    from worker.adapters.openai_embeddings import OpenAIEmbedder  # noqa: PLC0415  # same

    base_url, key = settings.embedding_endpoint(known)
    client = openai_client.client(base_url, key, connections=4)
    embedder = OpenAIEmbedder(client, timeout_s=max(patience_s, known.embedding_timeout_s))
    try:
        yield EmbeddingModel(
            embedder=embedder, name=known.embedding_model, dimensions=known.embedding_dimensions
        )
    finally:
        await embedder.close()
