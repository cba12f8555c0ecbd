"""``worker.ports.Embedder`` over an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import array
import base64
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from worker.adapters.api_errors import ApiError
from worker.adapters.call_guard import UNGUARDED, Guard
from worker.adapters.openai_client import Watch, answer
from worker.adapters.openai_http import ApiClient
from worker.adapters.vendor_failures import MALFORMED, call_failure
from worker.errors import EmbeddingRejected, RetrievalUnavailable
from worker.generation import estimated_tokens_of
from worker.model import AttemptOutcome

Vector = tuple[float, ...]

BATCH_TEXTS: Final = 128
"""Texts a request; OpenAI takes 2,048, many self-hosted servers far fewer."""

BATCH_CHARS: Final = 100_000
"""Characters a request: about 30,000 tokens where OpenAI takes 300,000."""

NO_NUMBER: Final = re.compile(r"\bNaN\b|non-finite|not JSON compliant")
"""How servers say with a status from 500 that a text has no vector: Ollama, oMLX, vLLM."""
EXPECTS_TEXT: Final = re.compile(r"\bstr(?:ing)? (?:type )?expected|[Ee]xpected (?:a )?string|a valid string")
"""How servers refuse a list: they take one text a request, as such."""
SPLITTING: Final = frozenset({400, 413, 422})
"""Refusals that a smaller request may escape."""
LEAST_CHARS: Final = 200
"""A text that is refused for its length is not shortened further."""


class NoVector(RetrievalUnavailable):
    """The server computed no numbers for a text of the request."""


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
        self._batch_texts = BATCH_TEXTS
        self._takes_lists = True
        self._refusals = 0

    async def embed(self, texts: Sequence[str], *, model: str, dimensions: int = 0) -> tuple[Vector, ...]:
        """One vector of length 1 for each text, in order; in as many sequential requests as needed."""
        found: list[Vector] = []
        while left := texts[len(found) :]:
            batch = _first_batch(left, self._batch_texts)
            found += await self._batch(batch, model, dimensions)
        if len({len(vector) for vector in found}) > 1:
            raise RetrievalUnavailable(
                "vectors of several lengths in one answer", kind=AttemptOutcome.MALFORMED
            )
        return tuple(found)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _batch(self, texts: list[str], model: str, dimensions: int) -> list[Vector]:
        """The vectors of a batch; in halves where a server refuses it, of one text by its beginning.

        A server takes at most so many texts when it refuses a batch and takes both halves.
        """
        try:
            return await self._one(texts, model, dimensions)
        except (EmbeddingRejected, NoVector) as error:
            if self._takes_lists and EXPECTS_TEXT.search(str(error)):
                self._takes_lists, self._batch_texts = False, 1
                return [found for text in texts for found in await self._batch([text], model, dimensions)]
            if not _may_pass_in_parts(error, texts):
                raise
            is_refused = isinstance(error, EmbeddingRejected)
        self._refusals += 1
        refusals = self._refusals
        if len(texts) == 1:
            return await self._batch([texts[0][: len(texts[0]) // 2]], model, dimensions)
        middle = len(texts) // 2
        found: list[Vector] = []
        while len(found) < len(texts):
            end = middle if len(found) < middle else len(texts)
            part = texts[len(found) : min(end, len(found) + self._batch_texts)]
            found += await self._batch(part, model, dimensions)
        if is_refused and self._refusals == refusals:
            self._batch_texts = min(self._batch_texts, len(texts) - middle)
        return found

    async def _one(self, texts: list[str], model: str, dimensions: int) -> list[Vector]:
        estimate = estimated_tokens_of(texts)
        asked = texts if self._takes_lists else texts[0]
        body = {"input": asked, "model": model} | ({"dimensions": dimensions} if dimensions else {})
        try:
            document = await answer(
                self._client,
                "/embeddings",
                body,
                self._timeout_s,
                holding="data",
                guard=self._guard,
                tokens=estimate,
            )
            vectors = _vectors(document["data"], len(texts), dimensions)
        except (ApiError, TimeoutError, *MALFORMED) as error:
            raise self._translated(error, f"embeddings of {model} at {self._client.base_url}") from error
        self._guard.spent(estimate, _total_tokens(document.get("usage"), estimate))
        self._watch.worked()
        return vectors

    def _translated(self, error: Exception, what: str) -> RetrievalUnavailable | EmbeddingRejected:
        known = call_failure(error)
        self._watch.failed(known)
        message = self._client.mask.text(f"{what}: {known.message}")  # the address may hold a key
        if isinstance(error, NotAVector) or ((known.status or 0) >= 500 and NO_NUMBER.search(known.message)):
            return NoVector(message, kind=known.kind)
        if known.may_succeed_later:
            return RetrievalUnavailable(message, kind=known.kind, retry_after_s=known.retry_after_s)
        return EmbeddingRejected(message, status=known.status or 0, is_too_long=known.is_too_long)


def _may_pass_in_parts(error: EmbeddingRejected | NoVector, texts: Sequence[str]) -> bool:
    """Whether fewer texts, or the beginning of the only one, may have vectors."""
    if isinstance(error, NoVector):
        return len(texts) > 1 or len(texts[0]) > 1
    if len(texts) == 1:
        return error.is_too_long and len(texts[0]) > LEAST_CHARS
    return error.is_too_long or error.status in SPLITTING


def _first_batch(texts: Sequence[str], most_texts: int) -> list[str]:
    batch: list[str] = []
    size = 0
    for text in texts[:most_texts]:
        size += len(text)
        if batch and size > BATCH_CHARS:
            break
        batch.append(text)
    return batch


class NotAVector(ValueError):
    """What stands for a text's vector has no numbers, or no direction."""


def _vectors(data: Any, count: int, dimensions: int) -> list[Vector]:
    """The vectors in the order of the texts; servers without ``index`` answer in that order.

    Some number the texts of several requests together.
    """
    items = [each if isinstance(each, Mapping) else {"embedding": each} for each in data]
    places = [at if each.get("index") is None else int(each["index"]) for at, each in enumerate(items)]
    if len(set(places)) == 1:
        places = list(range(len(items)))  # servers that leave one number in each item keep the order
    first = min(places, default=0)
    if sorted(places) != list(range(first, first + count)):
        raise ValueError(f"expected {count} vectors, got {len(items)}")
    vectors = [_vector(item["embedding"]) for _, item in sorted(zip(places, items, strict=True), key=_place)]
    if dimensions and any(len(vector) != dimensions for vector in vectors):
        raise ValueError(f"expected vectors of {dimensions} numbers, got {len(vectors[0])}")
    return vectors


def _place(pair: tuple[int, object]) -> int:
    return pair[0]


def _vector(embedding: Any) -> Vector:
    try:
        return _unit(_numbers(embedding))
    except (TypeError, ValueError) as error:
        raise NotAVector(f"expected numbers of a vector ({error})") from error


def _numbers(embedding: Any) -> Sequence[float]:
    """The numbers: a list, a list in a list, an object by type, or base64 of 32-bit floats."""
    if isinstance(embedding, Mapping):
        embedding = embedding["float"]
    if isinstance(embedding, str):
        floats = array.array("f", base64.b64decode(embedding, validate=True))
        if sys.byteorder == "big":
            floats.byteswap()
        return floats
    if len(embedding) == 1 and isinstance(embedding[0], list):
        return [float(number) for number in embedding[0]]
    return [float(number) for number in embedding]


def _total_tokens(usage: object, estimate: int) -> int:
    found = usage.get("total_tokens") or usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return found if isinstance(found, int) and found >= 0 else estimate


def _unit(vector: Sequence[float]) -> Vector:
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise ValueError("a vector has no direction")
    return tuple(number / length for number in vector)
