"""Embedding calls answered by another server on loopback, so that a real small model can be measured."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sandbox.listen import is_loopback

FORWARD_S = 120.0
"""A model on a busy CPU needs seconds for a batch of documents."""
MOST_KEPT = 20_000
"""Vectors that are kept, by request without texts and by text; each is some kilobytes."""
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without a proxy: the server is on this machine."""
_VECTORS: dict[tuple[str, str], Any] = {}


def parse_forward(url: str) -> str:
    """The base URL of another server, without a slash at its end; ValueError if it is not on loopback."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
        raise ValueError(f"embeddings: expected none or http://127.0.0.1:PORT/v1, got {url!r}")
    return url.rstrip("/")


async def forwarded_embeddings(url: str, body: bytes) -> tuple[int, bytes]:
    """Status and body of the other server's answer; 502 when it gives none."""
    return await asyncio.to_thread(_post, f"{url}/embeddings", body)


def _post(url: str, body: bytes) -> tuple[int, bytes]:
    try:
        return 200, _answered(url, body)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError as error:
        return 502, b'{"error": {"message": "no answer from the embedding server: %s"}}' % (
            type(error).__name__.encode()
        )


def _answered(url: str, body: bytes) -> bytes:
    """The other server's answer, in which a text that it has embedded before keeps its vector.

    Raises:
        OSError: there is none, or it is an error.
    """
    asked = json.loads(body)
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    how = json.dumps({**asked, "input": ""}, sort_keys=True)
    vectors = {text: _VECTORS.get((how, text)) for text in texts}
    if new := [text for text, vector in vectors.items() if vector is None]:
        found = _posted(url, {**asked, "input": new})
        vectors |= {new[each["index"]]: each["embedding"] for each in found["data"]}
        if len(_VECTORS) < MOST_KEPT:
            _VECTORS.update({(how, text): vectors[text] for text in new})
    data = [{"object": "embedding", "index": at, "embedding": vectors[text]} for at, text in enumerate(texts)]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return json.dumps(
        {"object": "list", "model": asked.get("model", ""), "data": data, "usage": usage}
    ).encode()


def _posted(url: str, document: Mapping[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sandbox"}
    body = json.dumps(document).encode()
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310  # loopback, checked at start
    with DIRECT.open(request, timeout=FORWARD_S) as response:
        return json.load(response)
