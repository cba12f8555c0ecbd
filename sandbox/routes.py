"""The routes of the sandbox, its model names and its errors."""

from __future__ import annotations

import hashlib
from enum import StrEnum

NO_MODEL = "no model"
CLASSIFIER_MODEL = f"sandbox-classifier ({NO_MODEL})"
CHAT_MODEL = f"sandbox-extractive ({NO_MODEL})"
MODERATION_MODEL = f"sandbox-wordlist ({NO_MODEL})"
EMBEDDING_MODEL = f"sandbox-hash ({NO_MODEL})"
ANY_MODEL = "*"
"""In the list of models: the sandbox accepts every name."""


class Route(StrEnum):
    """A route of the sandbox.

    Prompts of a judge and of a classifier use the chat path, but are counted and fail separately.
    """

    CHAT = "chat"
    JUDGE = "judge"
    CLASSIFIER = "classifier"
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
"""All names of a route in markers, rules and latency tables."""


class BadRequest(ValueError):
    """The real API would not accept the caller's request; answered with 400.

    Attributes:
        param: the offending field, as the OpenAI error object names it.
    """

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


def text_key(text: str) -> str:
    """The key under which a text is counted: 16 hexadecimal digits of its BLAKE2b hash."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
