"""Embeddings by hashing words and letter trigrams: similar spelling gives near vectors, meaning does not."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections.abc import Mapping
from functools import lru_cache

from sandbox.faults import FaultKind, SandboxFault, without_markers
from sandbox.replies.extractive import STOPWORDS, word_stem
from sandbox.routes import EMBEDDING_MODEL, BadRequest

DIMENSIONS = 256
"""Length of a vector by default."""

MOST_DIMENSIONS = 3072
STOPWORD_WEIGHT = 0.1
TRIGRAM_WEIGHT = 0.5
TOKEN = re.compile(r"[^\W_]+")


def embedding_texts(body: Mapping[str, object]) -> tuple[str, ...]:
    """The texts to embed: a string, a list of strings, or token numbers (taken as words)."""
    value = body.get("input")
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and value:
        if all(isinstance(item, str) for item in value):
            return tuple(value)
        if all(isinstance(item, int) for item in value):
            return (" ".join(map(str, value)),)
        if all(isinstance(item, list) for item in value):
            return tuple(" ".join(map(str, item)) for item in value)
    raise BadRequest("input: expected a string, a list of strings or of token numbers", param="input")


def embeddings_body(
    body: Mapping[str, object], texts: tuple[str, ...], fault: SandboxFault | None
) -> dict[str, object]:
    """The JSON answer; base64 holds little-endian 32-bit floats, as the openai client asks for."""
    dimensions = body.get("dimensions") or DIMENSIONS
    if not isinstance(dimensions, int) or not 8 <= dimensions <= MOST_DIMENSIONS:
        raise BadRequest(
            f"dimensions: expected 8 to {MOST_DIMENSIONS}, got {dimensions!r}", param="dimensions"
        )
    as_base64 = body.get("encoding_format") == "base64"
    vectors = (
        []
        if fault is not None and fault.kind is FaultKind.EMPTY
        else [text_embedding(t, dimensions) for t in texts]
    )
    words = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": EMBEDDING_MODEL,
        "data": [
            {"object": "embedding", "index": at, "embedding": _base64(vector) if as_base64 else vector}
            for at, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }


def text_embedding(text: str, dimensions: int) -> list[float]:
    """A vector of unit length; a text without words gives the first axis."""
    vector = [0.0] * dimensions
    for token in TOKEN.findall(without_markers(text).casefold()):
        for bucket, weight in _features(token, dimensions):
            vector[bucket] += weight
    length = math.sqrt(sum(number * number for number in vector))
    if length == 0.0:
        return [1.0, *vector[1:]]
    return [number / length for number in vector]


@lru_cache(maxsize=65536)
def _features(token: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    """Buckets and signed weights of one word and its trigrams; the sign keeps collisions from adding up."""
    weight = STOPWORD_WEIGHT if token in STOPWORDS else 1.0
    root = word_stem(token)
    padded = f"<{root}>"
    trigrams = [padded[at : at + 3] for at in range(len(padded) - 2)]
    shared = weight * TRIGRAM_WEIGHT / math.sqrt(len(trigrams))
    return (
        _feature(root, weight, dimensions),
        *(_feature(f"#{trigram}", shared, dimensions) for trigram in trigrams),
    )


def _feature(name: str, weight: float, dimensions: int) -> tuple[int, float]:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return (number >> 1) % dimensions, weight if number & 1 else -weight


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")
