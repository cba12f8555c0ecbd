"""Secrets that a server quotes are masked before anything stores, shows or logs its words.

A key that reached the append-only audit could not be removed from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

MASK: Final = "********"
RUN_CHARS: Final = 8
"""A run of so many characters of a secret is masked too: servers quote the beginning and the end of a key."""
SHORTEST_CHARS: Final = 6
"""A shorter secret is not masked: that would destroy ordinary words."""
LONG_CHARS: Final = 16
"""A shorter one may be a word, such as the key of an own server, that an answer of success needs."""
READ_CHARS: Final = 20_000
"""Further characters of one text of an error are dropped."""
READ_LEVELS: Final = 32
"""More levels than any known error has; readers of an error are recursive."""


class SecretMask:
    """Masks secrets, whole and in runs.

    Args:
        secrets: as they are sent; their form in a URL is masked too.
    """

    def __init__(self, *secrets: str) -> None:
        long = {each for each in secrets if len(each) >= SHORTEST_CHARS}
        forms = long | {quote(each, safe="") for each in long}
        self._whole = sorted(forms, key=len, reverse=True)
        self._bytes = tuple(
            each.encode("utf-8", "surrogatepass") for each in self._whole if len(each) >= LONG_CHARS
        )
        self._runs = frozenset(
            each[at : at + RUN_CHARS] for each in forms for at in range(len(each) - RUN_CHARS + 1)
        )

    def text(self, text: str) -> str:
        """The beginning of a text, without any secret."""
        text = text[:READ_CHARS]
        for each in self._whole:
            text = text.replace(each, MASK)
        return self._without_runs(text) if self._runs else text

    def json(self, value: Any, levels: int = READ_LEVELS) -> Any:
        """A JSON value whose texts, also its keys, are masked; without what is nested more deeply."""
        if not levels:
            return None
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.json(each, levels - 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self.json(each, levels - 1) for each in value]
        return value

    def answer(self, content: bytes) -> bytes:
        """An answer of success, without whole long secrets: a look at each costs microseconds."""
        for each in self._bytes:
            if each in content:
                content = content.replace(each, MASK.encode())
        return content

    def _without_runs(self, text: str) -> str:
        found = [at for at in range(len(text) - RUN_CHARS + 1) if text[at : at + RUN_CHARS] in self._runs]
        if not found:
            return text
        parts, shown_from = [], 0
        for at in found:
            if at >= shown_from:
                parts += [text[shown_from:at], MASK]
            shown_from = max(shown_from, at + RUN_CHARS)
        return "".join((*parts, text[shown_from:]))
