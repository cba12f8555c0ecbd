"""From a text to candidates: the automaton reads the text's readings, the cheapest first.

Most texts need one pass. Only where letters are stretched or spaced out, a window of the text is read a
second time with runs collapsed and letters joined, so that the cost stays linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from worker.rules.folding.context import TextContext
from worker.rules.folding.fold import ASCII_TABLES, TABLES, Fold
from worker.rules.folding.letter_positions import LetterPositions
from worker.rules.folding.signs import TextReading, merged_spans, sign_readings
from worker.rules.folding.stream import SPACED, FoldedStream, collapsed_stream, folded_stream, joined_streams

_ANY_SIGN = bytes(point for point in range(256) if chr(point) not in "@$!|+(")
_SIGNS = re.compile(rb"[@$+!|(](?:(?<=[@$+])|(?=[@$+\w])|(?<=\w[!|])|(?<=[^\w!][!|])(?![\w!]))")
_SPACED_BYTES = re.compile(rb" \S \S \S ")
_SPACED_QUICK = re.compile(r" \S \S \S ")
_LIKE_I = bytes.maketrans(b"I1!|", b"iiii")
_LIKE_L = bytes.maketrans(b"lLI1!|i", b"iiiiii-")
"""Tables that find stretched ``i`` and ``l``, one letter in the folds; ``will`` is not stretched."""
_STRETCHED = re.compile(r"([^ ])\1\1+")
_BEGINS = bytes(byte & 0xC0 != 0x80 for byte in range(256))
MANY = 16
"""Number of matches from which all offsets are computed at once."""
_RUN = re.compile(r"([^ ])\1+")


class Automaton(Protocol):
    """Finds all patterns in a byte string: ``(start, end, pattern number)``, overlapping."""

    def find_overlapping(self, haystack: bytes, /) -> list[PatternPlace]:
        """All matches, in order of their ends."""


MatchCandidate = tuple[TextReading, int, int, int]
"""Reading, first and one-past-last index in the original text, form number."""


PatternPlace = tuple[int, int, int]
"""First and one-past-last index, form or pattern number."""


@dataclass(frozen=True, slots=True)
class FormIndex:
    """The automaton and the figures of its patterns that a scan needs.

    Attributes:
        forms: patterns from this number on are runs of three letters, not forms of rules.
        reach: folded characters on either side of stretched or spaced letters that are read again with
            them, so that the longest phrase around them is complete.
    """

    automaton: Automaton
    forms: int
    reach: int


def find_candidates(index: FormIndex, text: str) -> Iterable[MatchCandidate]:
    """All places where a form may occur."""
    if not text.isascii():
        return _unicode(index, text)
    raw = text.encode()
    chars = _ascii_chars(raw, Fold.NATIVE)
    found = index.automaton.find_overlapping(chars)
    signs = bool(raw.translate(None, _ANY_SIGN)) and _SIGNS.search(raw) is not None
    if not found and not signs and not _SPACED_BYTES.search(chars):
        return ()
    return _ascii(index, text, chars, found, signs=signs)


def _ascii(
    index: FormIndex, text: str, chars: bytes, found: list[PatternPlace], *, signs: bool
) -> Iterator[MatchCandidate]:
    yield from _details(index, TextReading(Fold.NATIVE, TextContext(text)), chars.decode(), found)
    if not signs:
        return
    seen = {chars}
    for reading in sign_readings(text, index.reach):
        other = _ascii_chars(reading.text.encode(), Fold.SIGNS)
        if other not in seen:
            seen.add(other)
            yield from _details(index, reading, other.decode(), index.automaton.find_overlapping(other))


def _ascii_chars(raw: bytes, fold: Fold) -> bytes:
    chars = b" " + raw.translate(ASCII_TABLES[fold]) + b" "
    return b" " + b" ".join(chars.split()) + b" " if b"  " in chars else chars


def _unicode(index: FormIndex, text: str) -> Iterator[MatchCandidate]:
    seen: set[str] = set()
    for reading in (
        TextReading(Fold.NATIVE, TextContext(text)),
        TextReading(Fold.LOOKS, TextContext(text)),
        *sign_readings(text, index.reach),
    ):
        chars = f" {' '.join(reading.text.translate(TABLES[reading.fold]).split())} "
        if chars not in seen:
            seen.add(chars)
            found = index.automaton.find_overlapping(chars.encode("utf-8", "replace"))
            yield from _details(index, reading, chars, found)


def _details(
    index: FormIndex, reading: TextReading, chars: str, found: list[PatternPlace]
) -> Iterator[MatchCandidate]:
    """The candidates of one reading: plain ones, then those in windows of stretched and spaced letters."""
    forms = [place for place in found if place[2] < index.forms]
    places = _char_places(chars, forms)
    runs: list[tuple[int, int]] = []
    if len(forms) < len(found) and not _has_only_mixed_runs(index, chars, reading.text, found):
        runs = [run.span() for run in _STRETCHED.finditer(chars)]
    likely = runs or not chars.isascii() or _SPACED_QUICK.search(chars)
    windows = [match.span() for match in SPACED.finditer(chars)] if likely else []
    if not places and not windows and not runs:
        return
    merged = _merged(chars, windows + runs, index.reach) if windows or runs else []
    merged = [span for span in merged if windows or _may_hold(index, chars[span[0] : span[1] + 1])]
    if not places and not merged:
        return
    origin = LetterPositions(reading.text, reading.fold)
    numbered = _numbered(chars) if len(places) > MANY else None
    for start, end, number in places:
        first, last = (numbered[start], numbered[end] - 1) if numbered else _letters(chars, start, end)
        yield reading, origin.index(first), origin.index(last) + 1, number
    for start, end in merged:
        first, last = _letters(chars, start, end)
        base, stop = origin.index(first), origin.index(last) + 1
        for left, right, number in _reread(
            index, reading.text[base:stop], reading.fold, stretched=bool(runs)
        ):
            yield reading, base + left, base + right, number


def _has_only_mixed_runs(index: FormIndex, chars: str, text: str, found: list[PatternPlace]) -> bool:
    """Whether all runs mix ``i`` and ``l``, as in ``will``, so that no letter is stretched."""
    if not text.isascii():
        return False
    raw = text.encode()
    if b"iii" in raw.translate(_LIKE_I) or b"iii" in raw.translate(_LIKE_L):
        return False
    return all(chars[place[0]] == "i" for place in found if place[2] >= index.forms)


def _may_hold(index: FormIndex, window: str) -> bool:
    """Whether a window contains a form after its runs are collapsed; most stretched words do not."""
    collapsed = _RUN.sub(r"\1", window).encode("utf-8", "replace")
    return any(number < index.forms for _, _, number in index.automaton.find_overlapping(collapsed))


def _char_places(chars: str, found: list[PatternPlace]) -> list[PatternPlace]:
    """The matches with character offsets instead of byte offsets."""
    if chars.isascii() or not found:
        return found
    raw = chars.encode("utf-8", "replace")
    if len(found) > MANY:
        index = list(accumulate(raw.translate(_BEGINS), initial=0))
        return [(index[start], index[end], number) for start, end, number in found]
    return [(len(raw[:start].decode()), len(raw[:end].decode()), number) for start, end, number in found]


def _numbered(chars: str) -> list[int]:
    """For each index the number of letters before it."""
    return list(accumulate(map(" ".__ne__, chars), initial=0))


def _letters(chars: str, start: int, end: int) -> tuple[int, int]:
    """Numbers of the first and the last letter of a match, counted without spaces."""
    before = start - chars.count(" ", 0, start)
    return before, before + (end - start) - chars.count(" ", start, end) - 1


def _merged(chars: str, places: list[tuple[int, int]], reach: int) -> list[tuple[int, int]]:
    """Windows around the places, extended to whole words, overlapping ones merged."""
    near = merged_spans([(max(start - reach, 0), min(end + reach, len(chars) - 1)) for start, end in places])
    return merged_spans(
        [(max(chars.rfind(" ", 0, left + 1), 0), chars.find(" ", right)) for left, right in near]
    )


def _reread(index: FormIndex, text: str, fold: Fold, *, stretched: bool) -> Iterator[PatternPlace]:
    """The candidates of one window after its letters are joined and its runs collapsed."""
    plain = folded_stream(text, fold)
    streams = [collapsed_stream(plain)] if stretched else []
    parted = [reading for stream in (plain, *streams) for reading in joined_streams(stream, text)]
    streams += parted
    streams += [collapsed_stream(stream) for stream in parted if _RUN.search(stream.chars)]
    for stream in streams:
        found = index.automaton.find_overlapping(stream.chars.encode("utf-8", "replace"))
        for start, end, number in _char_places(stream.chars, found):
            if number < index.forms:
                yield _in_original(stream, start, end, number)


def _in_original(stream: FoldedStream, start: int, end: int, number: int) -> PatternPlace:
    first, last = start + (stream.chars[start] == " "), end - 1 - (stream.chars[end - 1] == " ")
    return stream.starts[first], stream.ends[last] + 1, number
