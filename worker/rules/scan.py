"""From a text to candidates: the folded streams, read by the automaton, cheapest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from worker.rules.fold import ASCII_TABLES, TABLES, Fold
from worker.rules.stream import Stream, collapse, joined, trace

_SIGNS = re.compile(rb"[@$+]|[!|(]\w|\w!")
_EDGE_SIGNS = re.compile(r"!+(?![\w@$+])|(?<![\w@$+])[(|]+|[(|]+(?![\w@$+])")
"""Signs that only punctuate where they stand: exclamation marks at the end of a word, bars and brackets
at its edges. Inside a word they may be letters."""
_LAST_EXCLAIM = re.compile(r"(?<=\w)!(?![\w!])")
"""One exclamation mark at the end of a word: punctuation nearly always, an ``i`` when a rule ends in one."""
_SPACED = re.compile(rb" \S \S \S ")


class Automaton(Protocol):
    """Finds every pattern in a byte string: ``(start, end, pattern number)``, overlapping."""

    def find_overlapping(self, haystack: bytes, /) -> list[tuple[int, int, int]]:
        """All matches, in order of their ends."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text: a fold, and the text with signs blanked that only punctuate (same length)."""

    fold: Fold
    text: str


Candidate = tuple[Reading, int, int, int]
"""Reading, first and one-past-last index in the original text, form number."""


def candidates(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    """Every place where a form may stand. Forms from ``first_run`` on are runs of three letters, not rules."""
    if text.isascii():
        yield from _ascii(automaton, first_run, text)
    else:
        yield from _unicode(automaton, first_run, text)


def _ascii(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    raw = text.encode()
    yield from _read(automaton, first_run, Reading(Fold.NATIVE, text), _ascii_chars(raw, Fold.NATIVE))
    if _SIGNS.search(raw):
        for reading in _sign_readings(text):
            chars = _ascii_chars(reading.text.encode(), Fold.SIGNS)
            yield from _read(automaton, first_run, reading, chars)


def _ascii_chars(raw: bytes, fold: Fold) -> bytes:
    chars = b" " + raw.translate(ASCII_TABLES[fold]) + b" "
    return b" " + b" ".join(chars.split()) + b" " if b"  " in chars else chars


def _sign_readings(text: str) -> Iterator[Reading]:
    yield Reading(Fold.SIGNS, _EDGE_SIGNS.sub(lambda found: " " * len(found[0]), text))
    if _LAST_EXCLAIM.search(text):
        yield Reading(Fold.SIGNS, text)


def _unicode(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    seen: list[str] = []
    readings = (Reading(Fold.NATIVE, text), Reading(Fold.LOOKS, text), *_sign_readings(text))
    for reading in readings:
        chars = f" {' '.join(reading.text.translate(TABLES[reading.fold]).split())} "
        if chars not in seen:
            seen.append(chars)
            yield from _read(automaton, first_run, reading, chars.encode("utf-8", "replace"))


def _read(automaton: Automaton, first_run: int, reading: Reading, chars: bytes) -> Iterator[Candidate]:
    found = automaton.find_overlapping(chars)
    spaced = _SPACED.search(chars) is not None or not chars.isascii()
    if not found and not spaced:
        return
    stream = trace(reading.text, reading.fold)
    runs = bool(found) and any(number >= first_run for _, _, number in found)
    streams = [stream, collapse(stream)] if runs else [stream]
    if spaced:
        streams += [read for base in tuple(streams) for read in joined(base, reading.text)]
        if runs:
            streams += [collapse(read) for read in streams[2:]]
    for number, other in enumerate(streams):
        raw = other.chars.encode("utf-8", "replace") if number else chars
        hits = automaton.find_overlapping(raw) if number else found
        for start, end, form in _located(hits, first_run, other, raw):
            yield reading, start, end, form


def _located(
    found: list[tuple[int, int, int]], first_run: int, stream: Stream, chars: bytes
) -> Iterator[tuple[int, int, int]]:
    """The candidates with their place in the original; byte offsets become indexes of the stream."""
    offsets = None if chars.isascii() else _char_offsets(chars)
    for begin, end, number in found:
        if number >= first_run:
            continue
        first, last = (begin, end) if offsets is None else (offsets[begin], offsets[end])
        while stream.chars[first] == " ":
            first += 1
        while stream.chars[last - 1] == " ":
            last -= 1
        yield stream.starts[first], stream.ends[last - 1] + 1, number


def _char_offsets(chars: bytes) -> list[int]:
    """For each byte offset of a UTF-8 string the index of its character."""
    offsets, count = [], -1
    for byte in chars:
        count += (byte & 0xC0) != 0x80
        offsets.append(count)
    offsets.append(count + 1)
    return offsets
