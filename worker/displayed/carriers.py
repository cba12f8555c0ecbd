"""Characters that no font shows and that carry text: tags, variation selectors, zero-width characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Final

from worker.displayed.edits import Edit
from worker.displayed.flags import is_subdivision

ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0"
)
SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
TAGS: Final = "\U000e0000-\U000e007f"
SUSPECT: Final = re.compile(
    f"[{TAGS}\u202d\u202e]|(?<![^\\w])[{SELECTORS}]|[{SELECTORS}]{{2}}|[{ZERO_WIDTH}]"
)
"""What an ordinary text with emoji does not have, except single zero-width characters."""
FLAG: Final = re.compile("\U0001f3f4([\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6})\U000e007f")
TAG: Final = re.compile(f"[{TAGS}]")
SELECTOR: Final = re.compile(f"[{SELECTORS}]+")
INVISIBLE: Final = re.compile(f"[{ZERO_WIDTH}]")
WHOLE_RUN: Final = 3
"""So many hidden characters in a row are words of their own."""
CARRYING: Final = 16
"""Fewest zero-width characters that are read as data: two letters."""
SYMBOLS: Final = 4
"""Most different zero-width characters of a code that is tried: two bits each."""
READABLE: Final = 0.9
EMOJI: Final = frozenset("\ufe0e\ufe0f")
STANDARD: Final = {
    "So": EMOJI, "Sk": EMOJI, "Sm": EMOJI | {"\ufe00"}, "Nd": EMOJI | {"\ufe00"},
    "Po": EMOJI | {"\ufe00", "\ufe01"}, "Pd": EMOJI,
    "Ps": frozenset("\ufe00\ufe01"), "Pe": frozenset("\ufe00\ufe01"),
    "Lo": frozenset("\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe06"),
}  # fmt: skip
"""The variation selectors that Unicode defines after characters of a category."""
INFORMATION: Final = "\u2139"
"""The only emoji that is a letter."""
IDEOGRAPHIC: Final = re.compile("[\U000e0100-\U000e011f]")


def carrier_edits(text: str) -> Sequence[Edit]:
    """The removal of hidden characters; the carried text replaces the first of them."""
    found = [_tags(text), _selectors(text), _zero_width(text)]
    edits = [edit for carrier in found if carrier for edit in _moved(*carrier)]
    return sorted(edits, key=lambda edit: edit.start)


def carried_texts(text: str) -> tuple[str, ...]:
    """The texts that hidden characters carry, of each kind of carrier."""
    if text.isascii() or SUSPECT.search(text) is None:
        return ()
    found = [_tags(text), _selectors(text), _zero_width(text)]
    return tuple("".join(char for char, _ in carrier[1]) for carrier in found if carrier and carrier[1])


Carrier = tuple[list[int], list[tuple[str, int]]]
"""Indices of the hidden characters, and what they carry: characters with their places."""


def _moved(hidden: list[int], carried: list[tuple[str, int]]) -> Iterator[Edit]:
    """One edit for each hidden character; the first brings the text that all of them carry."""
    for number, at in enumerate(hidden):
        shown = [(" ", at), *carried, (" ", at)] if carried and number == 0 else []
        yield Edit(
            start=at,
            end=at + 1,
            text="".join(char for char, _ in shown),
            places=[place for _, place in shown],
        )


def _tags(text: str) -> Carrier | None:
    """Tag characters, a copy of ASCII; those of a flag belong to it."""
    of_flags = {
        place
        for flag in FLAG.finditer(text)
        if is_subdivision(_ascii(flag[1]))
        for place in range(*flag.span())
    }
    hidden = [found.start() for found in TAG.finditer(text) if found.start() not in of_flags]
    if not hidden:
        return None
    carried = [(char, at) for at in hidden if (char := _ascii(text[at])).isprintable()]
    return hidden, _in_words(carried)


def _ascii(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags)


def _in_words(carried: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The characters, with a space between runs that are apart and long enough to be words."""
    runs: list[list[tuple[str, int]]] = []
    for char, at in carried:
        if runs and runs[-1][-1][1] == at - 1:
            runs[-1].append((char, at))
        else:
            runs.append([(char, at)])
    parted = any(len(run) >= WHOLE_RUN for run in runs)
    return [
        each
        for number, run in enumerate(runs)
        for each in ([(" ", run[0][1])] if parted and number else []) + run
    ]


def _selectors(text: str) -> Carrier | None:
    """Variation selectors that select no variant: each is a byte, or half of one."""
    hidden: list[int] = []
    for run in SELECTOR.finditer(text):
        start, end = run.span()
        selects = start > 0 and _selects(text[start - 1], text[start])
        if selects and EMOJI.issuperset(run[0]):  # some keyboards write it twice
            continue
        hidden += range(start + (selects and end - start < WHOLE_RUN), end)
    if not hidden:
        return None
    values = [_value(text[at]) for at in hidden]
    halves = [16 * high + low for high, low in zip(values[::2], values[1::2], strict=False)]
    for data, step in ((values, 1), (halves, 2)):
        if all(value < 256 for value in data) and (decoded := _readable(bytes(data))):
            last = len(hidden) - 1
            return hidden, [(char, hidden[min(at * step, last)]) for at, char in enumerate(decoded)]
    return hidden, []


def _value(selector: str) -> int:
    point = ord(selector)
    return point - 0xFE00 if point < 0xE0100 else point - 0xE0100 + 16


def _selects(base: str, selector: str) -> bool:
    if base == INFORMATION:
        return selector in EMOJI
    category = unicodedata.category(base)
    if category == "Lo" and IDEOGRAPHIC.match(selector):
        return True
    return selector in STANDARD.get(category, ())


def _readable(data: bytes) -> str:
    """The text in these bytes, or an empty one when they hold none."""
    try:
        text = data.decode().strip("\0")
    except UnicodeDecodeError:
        return ""
    good = sum(char.isprintable() or char in "\n\t" for char in text)
    letters = sum(char.isalnum() or char == " " for char in text)
    return text if len(text) > 1 and good == len(text) and letters >= READABLE * len(text) - 2 else ""


def _zero_width(text: str) -> Carrier | None:
    """Zero-width characters as the digits of a code: of two characters a bit each, of four two bits each."""
    hidden = [found.start() for found in INVISIBLE.finditer(text) if not joins(text, found.start())]
    if len(hidden) < CARRYING:
        return None
    signs = [text[at] for at in hidden]
    symbols = sorted(set(signs))
    for bits, code in _codes(symbols):
        digits = "".join(code.get(sign, "") for sign in signs)
        for size in (8, 7):
            whole = range(0, len(digits) - size + 1, size)
            decoded = _readable(bytes(int(digits[at : at + size], 2) for at in whole))
            if decoded:
                step = size // bits
                last = len(hidden) - 1
                return hidden, [(char, hidden[min(at * step, last)]) for at, char in enumerate(decoded)]
    return hidden, []


def _codes(symbols: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The ways to read these characters as digits, each with the bits of a digit."""
    if len(symbols) in {2, 3}:
        for zero, one in permutations(symbols, 2):
            yield 1, {zero: "0", one: "1"}
    if len(symbols) in {3, SYMBOLS}:
        for order in permutations(symbols):
            yield 2, dict(zip(order, ("00", "01", "10", "11"), strict=False))


def joins(text: str, at: int) -> bool:
    """Whether a zero-width character has a use here: in emoji, in scripts that join, between directions."""
    around = text[max(0, at - 2) : at] + text[at + 1 : at + 3]
    if any(unicodedata.category(char) in {"So", "Sk"} for char in around):
        return text[at] == "\u200d"
    return any(ord(char) > 0x58F and unicodedata.category(char)[0] in "LM" for char in around)
