"""Whether two texts can be compared word by word."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from worker.assessment.text.language import detect_language, function_word_language
from worker.assessment.text.once import KEPT_TEXTS

LATIN: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi")
"""Languages told apart by their words; others are told by their script."""


MOST_CHARS: Final = 400
"""Characters that the language of a text is told by."""


def language_of(text: str) -> str | None:
    """The language of a text, or its script; None when neither is certain."""
    return _language_of(text[:MOST_CHARS])


@lru_cache(maxsize=KEPT_TEXTS)
def _language_of(text: str) -> str | None:
    return detect_language(text, LATIN) or function_word_language(text)


def same_language(one: str, other: str) -> bool:
    """Whether two texts are certainly in one language."""
    found = language_of(one)
    return found is not None and found == language_of(other)
