"""The embedding model that a deployment's settings name, ready to ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from db.ingest import Model
from worker import settings
from worker.adapters import openai_client
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.settings import DocumentSettings

BATCH_TIMEOUT_S: Final = 60.0
"""How long adding documents waits for one answer; a search waits as long as the settings say."""


@asynccontextmanager
async def opened(known: DocumentSettings, *, patience_s: float = 0.0) -> AsyncIterator[Model | None]:
    """The model, or None where the settings name none."""
    if not known.embedding_model:
        yield None
        return
    base_url, key = settings.embedding_endpoint(known)
    client = openai_client.client(base_url, key, connections=4)
    embedder = OpenAIEmbedder(client, timeout_s=max(patience_s, known.embedding_timeout_s))
    try:
        yield Model(embedder=embedder, name=known.embedding_model, dimensions=known.embedding_dimensions)
    finally:
        await embedder.close()
