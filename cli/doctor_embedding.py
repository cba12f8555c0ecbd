"""What ``hushgate doctor`` looks at of embeddings: does the model answer, are the stored vectors its own?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from cli.check import Check
from db import embedders
from db.embedders import StoredEmbedder
from db.pool import pool, reach
from worker.adapters import openai_client
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import Settings, embedding_endpoint

REEMBED = "run: hushgate documents reembed"


def stored_vectors(settings: Settings) -> Iterator[Check]:
    """Whether searches use vectors, of the model that the settings name, and of every chunk."""
    active, chunks, vectors = asyncio.run(_stored(settings))
    named = settings.embedding_model
    if active is None:
        if named and chunks:
            yield _warning("no vector is stored: searches go by words alone", REEMBED)
        elif named:
            yield Check(check="embedder", state="ok", found=f"{named}, no document stored yet")
        return
    found = f"{active.model} with {active.dimensions} dimensions, {vectors} of {chunks} chunks"
    if not named:
        yield _warning(f"{found}, unused: searches go by words alone", "set HUSHGATE_EMBEDDING_MODEL")
    elif active.model != named:
        yield _warning(f"{found}, the settings name {named}", REEMBED)
    elif vectors < chunks:
        yield _warning(found, REEMBED)
    else:
        yield Check(check="embedder", state="ok", found=found)


def embedding_answer(settings: Settings) -> Iterator[Check]:
    """Whether the model embeds one word, with as many dimensions as were asked for."""
    if not settings.embedding_model:
        return
    name, asked = "embedding endpoint", f"{settings.embedding_model} at {embedding_endpoint(settings)[0]}"
    try:
        dimensions = asyncio.run(_dimensions(settings))
    except EmbeddingRejected as error:
        mend = "check HUSHGATE_EMBEDDING_MODEL, _DIMENSIONS and _API_KEY: the server refuses such requests"
        yield Check(check=name, state="fail", found=f"{asked}: HTTP {error.status}", mend=mend)
    except RetrievalUnavailable as error:
        mend = "check HUSHGATE_EMBEDDING_BASE_URL and the network; searches go by words alone meanwhile"
        yield Check(check=name, state="fail", found=f"{asked}: {error.kind}", mend=mend)
    else:
        yield Check(check=name, state="ok", found=f"{asked} gives {dimensions} dimensions")


def _warning(found: str, mend: str) -> Check:
    return Check(check="embedder", state="warn", found=found, mend=mend)


async def _stored(settings: Settings) -> tuple[StoredEmbedder | None, int, int]:
    """The active embedder, how many chunks there are, and how many of them have its vector."""
    url = settings.database_url.get_secret_value()
    await reach(url)
    async with pool(url, size=1, application="hushgate-doctor", role=None) as source:
        active = await embedders.active(source)
        chunks, vectors = await embedders.counts(source, active)
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
