"""``hushgate doctor``: does the embedding model answer, and are the stored vectors of that model?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.options import own_connections
from db.documents import embedding_models
from db.documents.embedding_models import StoredEmbedder
from db.documents.stored_vectors import count_vectors
from worker.adapters import openai_client
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import Settings, embedding_endpoint

REEMBED = "run: hushgate documents reembed"


def stored_vectors(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether every chunk has a vector of the model that the settings name."""
    active, chunks, vectors = asyncio.run(_stored(settings))
    named = settings.embedding_model
    if active is None:
        if named and chunks:
            yield warned("embedder", "no vector is stored: searches use words only", REEMBED)
        elif named:
            yield passed("embedder", f"{named}, no document stored yet")
        return
    found = f"{active.model} with {active.dimensions} dimensions, {vectors} of {chunks} chunks"
    if not named:
        yield warned("embedder", f"{found}, unused: searches use words only", "set HUSHGATE_EMBEDDING_MODEL")
    elif active.model != named:
        yield warned("embedder", f"{found}, the settings name {named}", REEMBED)
    elif vectors < chunks:
        yield warned("embedder", found, REEMBED)
    else:
        yield passed("embedder", found)


def embedding_answer(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether the model embeds one word, and with how many dimensions."""
    if not settings.embedding_model:
        return
    name, called = "live embedding call", f"{settings.embedding_model} at {embedding_endpoint(settings)[0]}"
    try:
        dimensions = asyncio.run(_dimensions(settings))
    except EmbeddingRejected as error:
        fix = "check HUSHGATE_EMBEDDING_MODEL, _DIMENSIONS and _API_KEY: the server refuses such requests"
        yield failed(name, f"{called}: HTTP {error.status}", fix)
    except RetrievalUnavailable as error:
        fix = "check HUSHGATE_EMBEDDING_BASE_URL and the network; until then searches use words only"
        yield failed(name, f"{called}: {error.kind}", fix)
    else:
        yield passed(name, f"{called} gives {dimensions} dimensions")


async def _stored(settings: Settings) -> tuple[StoredEmbedder | None, int, int]:
    """The active embedder, how many chunks there are, and how many of them have its vector."""
    url = settings.database_url.get_secret_value()
    async with own_connections(url, application="hushgate-doctor") as source:
        active = await embedding_models.active_embedder(source)
        chunks, vectors = await count_vectors(source, active)
    return active, chunks, vectors


async def _dimensions(settings: Settings) -> int:
    client = openai_client.client(*embedding_endpoint(settings), connections=1)
    embedder = OpenAIEmbedder(client, timeout_s=settings.embedding_timeout_s)
    try:
        vectors = await embedder.embed(
            ["hushgate"], model=settings.embedding_model, dimensions=settings.embedding_dimensions
        )
    finally:
        await embedder.close()
    return len(vectors[0])
