"""Long texts in pieces that a moderation endpoint reads to their end.

The endpoint of OpenAI was seen to answer texts beyond some 4,000 tokens with constants and ``flagged: false``
(``docs/vendors.md``), so no piece is longer than half of that.
"""

from __future__ import annotations

from typing import Final

from worker.generation import estimated_tokens_of

MOST_TOKENS: Final = 2000
OVERLAP_CHARS: Final = 400
"""Shared by neighbours, so that a sentence at a border stands whole in one of them."""
LEAST_CHARS: Final = 1000
"""A piece of this length has fewer than ``MOST_TOKENS`` in every script."""
STEP_CHARS: Final = 500


def pieces(text: str) -> list[str]:
    """The text, or overlapping pieces of it that together hold all of it; at least one."""
    if estimated_tokens_of([text]) <= MOST_TOKENS:
        return [text]
    found: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start)
        found.append(text[start:end])
        if end >= len(text):
            break
        start = end - OVERLAP_CHARS
    return found


def _end(text: str, start: int) -> int:
    """Where a piece that starts here ends: after as many characters as fit, at a space where one is near."""
    end = min(len(text), start + LEAST_CHARS)
    while end < len(text) and estimated_tokens_of([text[start : end + STEP_CHARS]]) <= MOST_TOKENS:
        end += STEP_CHARS
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", end - STEP_CHARS, end)
    return space if space > start + OVERLAP_CHARS else end
