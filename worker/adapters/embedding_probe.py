"""Which embedding model a server has, asked when the settings name none."""

from __future__ import annotations

import asyncio
from typing import Final

from worker.adapters.api_errors import ApiConnectionError, ApiError, ApiStatusError
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiClient, model_names
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.settings import ModelServer

FALLBACK_MODEL: Final = "text-embedding-3-small"
"""Requested where the list of models has no embedding model; many servers map this name to their own."""
NAMED: Final = "embed"
LIST_S: Final = 3.0
UNKNOWN: Final = frozenset({401, 402, 403, 407, 429})
"""Refusals that say nothing about what the server has."""
PROBE: Final = "Which model answers?"


async def answering_model(
    client: ApiClient, place: ModelServer, *, dimensions: int, timeout_s: float
) -> tuple[str, int] | None:
    """The model's name and the length of its vectors; None when the server has no embeddings.

    At most two requests: the list of models, unless the server is well known, and one embedding.

    Raises:
        RetrievalUnavailable, EmbeddingRejected: whether it has some is not known: it does not answer, or
            refuses the key or the number of calls.
    """
    name = place.default_embedding_model or await _listed_model(client)
    embedder = OpenAIEmbedder(client, timeout_s=timeout_s)
    try:
        (vector,) = await embedder.embed([PROBE], model=name, dimensions=dimensions)
    except (RetrievalUnavailable, EmbeddingRejected) as error:
        cause = error.__cause__
        if isinstance(cause, ApiStatusError) and cause.status in UNKNOWN:
            raise
        if isinstance(cause, ApiConnectionError | TimeoutError):
            raise
        return None
    return name, len(vector)


async def _listed_model(client: ApiClient) -> str:
    try:
        async with asyncio.timeout(LIST_S):
            listed = model_names(await client.get("/models"))
    except (ApiError, TimeoutError, ValueError):
        return FALLBACK_MODEL
    found = sorted(name for name in listed if NAMED in name.lower())
    return FALLBACK_MODEL if FALLBACK_MODEL in found or not found else found[0]
