"""Which doors the sandbox has, what a call through one was about, and the words both are known by."""

from __future__ import annotations

import hashlib
from enum import StrEnum

NO_MODEL = "no model"
CHAT_MODEL = f"sandbox-extractive ({NO_MODEL})"
MODERATION_MODEL = f"sandbox-wordlist ({NO_MODEL})"
EMBEDDING_MODEL = f"sandbox-hash ({NO_MODEL})"


class Route(StrEnum):
    """A door of the sandbox. A judge prompt comes in by the chat path but counts and fails on its own."""

    CHAT = "chat"
    JUDGE = "judge"
    MODERATIONS = "moderations"
    EMBEDDINGS = "embeddings"


PATHS = {
    "/v1/chat/completions": Route.CHAT,
    "/v1/moderations": Route.MODERATIONS,
    "/v1/embeddings": Route.EMBEDDINGS,
}

ROUTE_NAMES = {
    **{str(route): route for route in Route},
    "llm": Route.CHAT,
    "mod": Route.MODERATIONS,
    "emb": Route.EMBEDDINGS,
}
"""Every word a marker, a rule or a latency table may use for a route."""


class BadRequest(ValueError):  # noqa: N818  # named as the client sees it
    """The caller's request is not one the real API would take; answered with 400.

    Attributes:
        param: the offending field, as the OpenAI error object names it.
    """

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


def text_key(text: str) -> str:
    """The key a text is counted under: 16 hexadecimal digits of its BLAKE2b hash."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
