"""The readings of a text in which signs such as ``$``, ``!`` and ``|`` are letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worker.rules.context import Context
from worker.rules.fold import Fold

_MARKS = re.compile(r"[!(|]+")
_WORD_OR_SIGN = re.compile(r"[\w@$+]")
_REPEATED_SIGN = re.compile(r"([+|!]{1,2})[^\s+|]\1")
_SIGN_BETWEEN = re.compile(r"(?<!\w)[^\s+|]([+|!]{1,2})(?:[^\s+|]\1)+[^\s+|](?!\w)")
"""A sign between all letters (``@+s+s``) parts them and is no letter itself."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text: a fold, and the text with signs blanked that only punctuate (same length)."""

    fold: Fold
    context: Context

    @property
    def text(self) -> str:
        """The text as this reading shows it."""
        return self.context.text


def sign_readings(text: str, reach: int) -> Iterator[Reading]:
    """Readings with signs as letters; the doubtful one only of what is near a doubtful sign."""
    parted = text
    if _REPEATED_SIGN.search(text):
        parted = _SIGN_BETWEEN.sub(lambda found: found[0].replace(found[1], " " * len(found[1])), text)
    marks = list(_MARKS.finditer(parted))
    if not marks:
        yield Reading(Fold.SIGNS, Context(parted))
        return
    blanked = [mark.span() for mark in marks if _punctuates(mark)]
    yield Reading(Fold.SIGNS, Context(_without(parted, blanked)))
    doubtful = [mark for mark in marks if _is_doubtful(mark)]
    if not doubtful:
        return
    near = _near(parted, [mark.start() for mark in doubtful], reach)
    yield Reading(Fold.SIGNS, Context(near))
    touching = [mark.span() for mark in marks if _punctuates(mark) and any(_sides(mark))]
    if touching and not all(any(_sides(mark)) for mark in doubtful):
        yield Reading(Fold.SIGNS, Context(_without(near, touching)))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with spaces in those places."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join(pieces) + text[at:]


def _sides(marks: re.Match[str]) -> tuple[bool, bool]:
    """Whether a letter, a digit or a sign stands right before and right after the marks."""
    text, start, end = marks.string, marks.start(), marks.end()
    return (
        start > 0 and _WORD_OR_SIGN.match(text, start - 1) is not None,
        _WORD_OR_SIGN.match(text, end) is not None,
    )


def _punctuates(marks: re.Match[str]) -> bool:
    """Whether marks only punctuate where they stand; inside a word they may be letters.

    Exclamation marks punctuate at the end of a word, bars and brackets at either edge.
    """
    precedes, follows = _sides(marks)
    return not follows or (not precedes and marks[0][0] != "!")


def _is_doubtful(marks: re.Match[str]) -> bool:
    """Whether marks that punctuate nearly always may yet be a last ``i`` or an outer ``l`` of a word."""
    if marks[0] == "!":
        return not _sides(marks)[1]
    return not marks[0].strip("|") and not all(_sides(marks))


def _near(text: str, places: list[int], reach: int) -> str:
    """The text with everything blanked that is further than ``reach`` from all places; same length."""
    if len(text) <= 2 * reach:
        return text
    pieces, at = [], 0
    for left, right in joined_up([(max(0, place - reach), place + reach) for place in places]):
        start = max(text.rfind(" ", 0, left + 1), 0)
        end = text.find(" ", right)
        end = len(text) if end < 0 else end
        if end > at:
            start = max(start, at)
            pieces += [" " * (start - at), text[start:end]]
            at = end
    return "".join(pieces) + " " * (len(text) - at)


def joined_up(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
