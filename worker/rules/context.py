"""What a whole text says about its language, worked out once and only when a candidate asks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cached_property

from worker.rules.fold import script

_VIETNAMESE = re.compile("\\b\\w*[\u01a0\u01a1\u01af\u01b0\u0110\u0111\u1ea0-\u1ef9]\\w*")
"""Words with letters only Vietnamese uses, in composed form."""


def vietnamese_words(text: str) -> list[str]:
    """The words of a text that have letters only Vietnamese uses."""
    return _VIETNAMESE.findall(unicodedata.normalize("NFC", text))


class Context:
    """A text as one reading shows it, with what all its candidates share."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def scripts(self) -> Counter[str]:
        """How many letters the text has of each script."""
        counts: Counter[str] = Counter()
        for char, count in Counter(self.text).items():
            if char.isalpha():
                counts[script(char)] += count
        return counts

    @cached_property
    def vietnamese(self) -> int:
        """How many words have letters only Vietnamese uses."""
        return len(vietnamese_words(self.text))
