"""The embedding model of a local fleet: tried once at its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.documents import configured_embedder, embedding_models, ingest, model_change
from db.documents.stored_vectors import count_vectors
from db.pool import Pool, create_pool
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import DocumentSettings, ModelRole, load

MOST_CHUNKS: Final = 2000
"""More chunks without a vector are left to ``hushgate documents reembed``, so that the fleet starts soon."""
TRIED: Final = "Does the model answer?"
WORDS_ONLY: Final = "searches use words only"


async def prepare(environment: Mapping[str, str], database_url: str) -> str:
    """Choose a model where none is in use, and embed what has no vector; what was done, in one sentence."""
    known = load(DocumentSettings, environment)
    if (place := known.servers.embeddings) is None:
        if known.fixed_model(ModelRole.EMBEDDINGS):
            return f"embeddings are off: {WORDS_ONLY}"
        return f"embeddings are those of a server connected on the page Connect; without one {WORDS_ONLY}"
    async with (
        create_pool(database_url, size=2, application="hushgate-up", role=None) as source,
        configured_embedder.open_model(known, source) as model,
    ):
        if model is None:
            return f"{place.url} gives no embeddings: {WORDS_ONLY}"
        try:
            return await _prepared(source, model, place.url)
        except (RetrievalUnavailable, EmbeddingRejected) as error:
            return f"the embedding model failed ({error}): {WORDS_ONLY} until `hushgate documents reembed`"


async def _prepared(source: Pool, model: ingest.EmbeddingModel, url: str) -> str:
    active = await embedding_models.active_embedder(source)
    if active is not None and active.model != model.name:
        return f"searches use {active.model}, the settings name {model.name}: `hushgate documents reembed`"
    chunks, vectors = await count_vectors(source, active)
    if chunks - vectors > MOST_CHUNKS:
        return f"{chunks - vectors} parts of documents have no vector: `hushgate documents reembed`"
    if active is None or vectors < chunks:
        async for _ in model_change.reembed_chunks(source, model):
            pass
    else:
        await model.embedder.embed([TRIED], model=model.name, dimensions=model.dimensions)
    return f"embeddings: {model.name} of {url}, which answered"
