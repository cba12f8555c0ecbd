"""The readings of a text in which signs such as ``$``, ``!`` and ``|`` are letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worker.rules.folding.context import TextContext
from worker.rules.folding.fold import Fold

_SIGN_RUN = re.compile(r"[!(|]+")
_WORD_OR_SIGN = re.compile(r"[\w@$+]")
_REPEATED_SIGN = re.compile(r"([+|!]{1,2})[^\s+|]\1")
_SIGN_BETWEEN = re.compile(r"(?<!\w)[^\s+|]([+|!]{1,2})(?:[^\s+|]\1)+[^\s+|](?!\w)")
"""A sign between all letters (``@+s+s``) separates them and is not a letter."""


@dataclass(frozen=True, slots=True)
class TextReading:
    """One way to read a text: a fold, and the text of the same length with punctuating signs blanked."""

    fold: Fold
    context: TextContext

    @property
    def text(self) -> str:
        """The text of this reading."""
        return self.context.text


def sign_readings(text: str, reach: int) -> Iterator[TextReading]:
    """Readings with signs as letters; doubtful signs are read as letters only near them."""
    parted = text
    if _REPEATED_SIGN.search(text):
        parted = _SIGN_BETWEEN.sub(lambda found: found[0].replace(found[1], " " * len(found[1])), text)
    signs = list(_SIGN_RUN.finditer(parted))
    if not signs:
        yield TextReading(Fold.SIGNS, TextContext(parted))
        return
    blanked = [sign.span() for sign in signs if _punctuates(sign)]
    yield TextReading(Fold.SIGNS, TextContext(_blanked(parted, blanked)))
    doubtful = [sign for sign in signs if _is_doubtful(sign)]
    if not doubtful:
        return
    near = _text_near(parted, [sign.start() for sign in doubtful], reach)
    yield TextReading(Fold.SIGNS, TextContext(near))
    touching = [sign.span() for sign in signs if _punctuates(sign) and any(_sides(sign))]
    if touching and not all(any(_sides(sign)) for sign in doubtful):
        yield TextReading(Fold.SIGNS, TextContext(_blanked(near, touching)))


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with these spans blanked."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join(pieces) + text[at:]


def _sides(signs: re.Match[str]) -> tuple[bool, bool]:
    """Whether a letter, a digit or a sign is directly before and directly after the signs."""
    text, start, end = signs.string, signs.start(), signs.end()
    return (
        start > 0 and _WORD_OR_SIGN.match(text, start - 1) is not None,
        _WORD_OR_SIGN.match(text, end) is not None,
    )


def _punctuates(signs: re.Match[str]) -> bool:
    """Whether signs only punctuate in their place; inside a word they may be letters.

    Exclamation marks punctuate at the end of a word, bars and brackets at either edge.
    """
    precedes, follows = _sides(signs)
    return not follows or (not precedes and signs[0][0] != "!")


def _is_doubtful(signs: re.Match[str]) -> bool:
    """Whether signs that usually punctuate may be a last ``i`` or an outer ``l`` of a word."""
    if signs[0] == "!":
        return not _sides(signs)[1]
    return not signs[0].strip("|") and not all(_sides(signs))


def _text_near(text: str, places: list[int], reach: int) -> str:
    """The text of the same length with everything further than ``reach`` from all places blanked."""
    if len(text) <= 2 * reach:
        return text
    pieces, at = [], 0
    for left, right in merged_spans([(max(0, place - reach), place + reach) for place in places]):
        start = max(text.rfind(" ", 0, left + 1), 0)
        end = text.find(" ", right)
        end = len(text) if end < 0 else end
        if end > at:
            start = max(start, at)
            pieces += [" " * (start - at), text[start:end]]
            at = end
    return "".join(pieces) + " " * (len(text) - at)


def merged_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, touching ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
