"""Embedding calls answered by another server on loopback, so that a real small model can be measured."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from functools import lru_cache
from urllib.parse import urlsplit

from sandbox.listen import is_loopback

FORWARD_S = 120.0
"""A model on a busy CPU needs seconds for a batch of documents."""
KEPT = 4096
"""Answers that are kept; each is some kilobytes."""
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without a proxy: the server is on this machine."""


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


@lru_cache(maxsize=KEPT)
def _answered(url: str, body: bytes) -> bytes:
    """The other server's answer, once for equal requests: accounts of several policies have equal documents.

    Raises:
        OSError: there is none, or it is an error.
    """
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sandbox"}
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310  # loopback, checked at start
    with DIRECT.open(request, timeout=FORWARD_S) as response:
        answer: bytes = response.read()
    return answer
