"""``worker.ports.Embedder`` over an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from typing import Final

from openai import OpenAIError, omit
from openai.types import CreateEmbeddingResponse

from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.openai_client import Watch, check_type, failure
from worker.adapters.openai_http import ApiClient
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.generation import estimated_tokens_of
from worker.model import AttemptOutcome

BATCH_TEXTS: Final = 128
"""Texts a request; OpenAI takes 2,048, many self-hosted servers far fewer."""

BATCH_CHARS: Final = 100_000
"""Characters a request: about 30,000 tokens where OpenAI takes 300,000."""


class OpenAIEmbedder:
    """Asks for vectors; an answer that is not whole is no answer.

    Args:
        client: from ``openai_client.client``.
        timeout_s: limit of one request.
        watch: records whether the endpoint is usable.
        guard: stands before each request.
    """

    def __init__(
        self, client: ApiClient, *, timeout_s: float, watch: Watch | None = None, guard: Guard = UNGUARDED
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._watch = watch or Watch("embedding")
        self._guard = guard

    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int = 0
    ) -> tuple[tuple[float, ...], ...]:
        """One vector of length 1 a text, in order, in as many requests as it takes, one after the other."""
        found: list[tuple[float, ...]] = []
        for batch in _batches(texts):
            found += await self._one(batch, model, dimensions)
        if len({len(vector) for vector in found}) > 1:
            raise RetrievalUnavailable(
                "vectors of several lengths in one answer", kind=AttemptOutcome.MALFORMED
            )
        return tuple(found)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _one(self, texts: list[str], model: str, dimensions: int) -> list[tuple[float, ...]]:
        try:
            estimate = estimated_tokens_of(texts)
            async with self._guard.call(estimate), asyncio.timeout(self._timeout_s):
                with self._client.observed():
                    answer = await self._client.sdk.embeddings.with_raw_response.create(
                        input=texts, model=model, dimensions=dimensions or omit
                    )
                check_type(answer.headers, "/embeddings")  # inside: a wrong answer is a failure
                found = answer.parse()
                vectors = _vectors(found, len(texts), dimensions)
            self._guard.learned(answer.headers)
            self._guard.spent(estimate, found.usage.total_tokens if found.usage else estimate)
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError) as error:
            raise self._translated(error, f"embeddings of {model} at {self._client.sdk.base_url}") from error
        self._watch.worked()
        return vectors

    def _translated(self, error: Exception, what: str) -> RetrievalUnavailable | EmbeddingRejected:
        known = failure(error)
        if known is None:
            return RetrievalUnavailable(
                f"{what}: {type(error).__name__}: {error}"[:300], kind=AttemptOutcome.MALFORMED
            )
        self._watch.failed(known)
        message = f"{what}: {known.message}"
        if known.may_succeed_later:
            return RetrievalUnavailable(message, kind=known.kind, retry_after_s=known.retry_after_s)
        return EmbeddingRejected(message, status=known.status or 0)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _vectors(answer: CreateEmbeddingResponse, count: int, dimensions: int) -> list[tuple[float, ...]]:
    items = sorted(answer.data, key=lambda item: item.index)
    if [item.index for item in items] != list(range(count)):
        raise ValueError(f"expected {count} vectors, got {len(items)}")
    vectors = [_unit(item.embedding) for item in items]
    if dimensions and any(len(vector) != dimensions for vector in vectors):
        raise ValueError(f"expected vectors of {dimensions} numbers, got {len(vectors[0])}")
    return vectors


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise ValueError("a vector has no direction")
    return tuple(number / length for number in vector)
