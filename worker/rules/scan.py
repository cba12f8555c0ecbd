"""From a text to candidates: the folded streams, read by the automaton, cheapest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from worker.rules.fold import ASCII_TABLES, TABLES, Fold
from worker.rules.stream import Stream, collapse, joined, trace

_SIGNS = re.compile(rb"[@$|+]|!\w|\w!|\w\(\w")
_SPACED = re.compile(rb" \S \S \S ")


class Automaton(Protocol):
    """Finds every pattern in a byte string: ``(start, end, pattern number)``, overlapping."""

    def find_overlapping(self, haystack: bytes, /) -> list[tuple[int, int, int]]:
        """All matches, in order of their ends."""


Candidate = tuple[Fold, int, int, int]
"""Fold, first and one-past-last index in the original text, form number."""


def candidates(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    """Every place where a form may stand. Forms from ``first_run`` on are runs of three letters, not rules."""
    if text.isascii():
        yield from _ascii(automaton, first_run, text)
    else:
        yield from _unicode(automaton, first_run, text)


def _ascii(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    raw = text.encode()
    for fold in (Fold.NATIVE, Fold.SIGNS):
        if fold is Fold.SIGNS and not _SIGNS.search(raw):
            return
        chars = b" " + raw.translate(ASCII_TABLES[fold]) + b" "
        if b"  " in chars:
            chars = b" " + b" ".join(chars.split()) + b" "
        yield from _read(automaton, first_run, text, fold, chars)


def _unicode(automaton: Automaton, first_run: int, text: str) -> Iterator[Candidate]:
    seen: list[str] = []
    for fold in Fold:
        chars = f" {' '.join(text.translate(TABLES[fold]).split())} "
        if chars not in seen:
            seen.append(chars)
            yield from _read(automaton, first_run, text, fold, chars.encode("utf-8", "replace"))


def _read(automaton: Automaton, first_run: int, text: str, fold: Fold, chars: bytes) -> Iterator[Candidate]:
    found = automaton.find_overlapping(chars)
    spaced = _SPACED.search(chars) is not None or not chars.isascii()
    if not found and not spaced:
        return
    stream = trace(text, fold)
    runs = bool(found) and any(number >= first_run for _, _, number in found)
    yield from _located(found, first_run, stream, chars)
    streams = [stream]
    if runs:
        streams.append(collapse(stream))
        yield from _reread(automaton, first_run, streams[-1])
    if spaced:
        for base in streams:
            for reading in joined(base, text):
                yield from _reread(automaton, first_run, reading)
                if runs:
                    yield from _reread(automaton, first_run, collapse(reading))


def _reread(automaton: Automaton, first_run: int, stream: Stream) -> Iterator[Candidate]:
    chars = stream.chars.encode("utf-8", "replace")
    yield from _located(automaton.find_overlapping(chars), first_run, stream, chars)


def _located(
    found: list[tuple[int, int, int]], first_run: int, stream: Stream, chars: bytes
) -> Iterator[Candidate]:
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
        yield stream.fold, stream.starts[first], stream.ends[last - 1] + 1, number


def _char_offsets(chars: bytes) -> list[int]:
    """For each byte offset of a UTF-8 string the index of its character."""
    offsets, count = [], -1
    for byte in chars:
        count += (byte & 0xC0) != 0x80
        offsets.append(count)
    offsets.append(count + 1)
    return offsets
