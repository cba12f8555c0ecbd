"""The sentences of a text in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from icu4py.breakers import SentenceBreaker

_NON_BMP: Final = re.compile("[\U00010000-\U0010ffff]")
"""Characters that ICU counts as two because it uses UTF-16."""


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence with the white space after it; together they are the whole text."""
    yield from SentenceBreaker(_NON_BMP.sub("\u25a0", text), "und").segments()
