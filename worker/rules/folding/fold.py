"""The fold of each character: within its script, as a look-alike, and with signs read as letters.

All three folds are coarse on purpose: ``l`` and ``i`` share a letter, digits become letters. A fold only
finds candidates; ``worker.rules.matching`` compares them with the original characters.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files

SEPARATOR = " "


class Fold(StrEnum):
    """The way a text is read: as written, by looks, or by looks with signs as letters."""

    NATIVE = "native"
    LOOKS = "looks"
    SIGNS = "signs"


LEET: dict[str, str] = {
    "0": "o", "1": "il", "2": "z", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g",
    "@": "a", "$": "s", "!": "i", "|": "il", "+": "t", "(": "c", "€": "e", "£": "l", "¥": "y", "¢": "c",
    "§": "s", "°": "o", "©": "c", "®": "r",
}  # fmt: skip
"""Letters that each digit or sign may replace: the one-character substitutions in Wikipedia's article "Leet".
The fold writes the first letter."""

LEET_OTHER: dict[str, str] = {"ч": "4", "ح": "7", "خ": "5", "ع": "3", "ق": "2", "ط": "6"}
"""Digits that replace letters of other scripts: Cyrillic leet and the Arabic chat alphabet."""

_COARSE = str.maketrans("l0123456789", "ioizeasgtbg")
ASCII_SIGNS = "@$!|+("


def data_lines(name: str) -> list[str]:
    """The lines of a file in ``data``, without comments."""
    text = (files("worker.rules.folding") / "data" / name).read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


@cache
def _script_ranges() -> tuple[list[int], list[str]]:
    rows = [line.split("\t") for line in data_lines("scripts.tsv")]
    return [int(first, 16) for first, _, _ in rows], [code for _, _, code in rows]


@lru_cache(maxsize=8192)
def script_code(char: str) -> str:
    """Unicode script code of a character, such as ``Latn``; ``Zyyy`` common, ``Zinh`` inherited."""
    if char.isascii():
        return "Latn" if char.isalpha() else "Zyyy"
    firsts, codes = _script_ranges()
    return codes[bisect_right(firsts, ord(char)) - 1]


def _default(point: int) -> str:
    char = chr(point)
    if script_code(char) == "Hani" and unicodedata.category(char)[0] == "L":
        return f" {char} "
    return char if unicodedata.category(char)[0] in "LM" else SEPARATOR


MAX_TABLE = 1 << 16
"""Most entries of one table, so that a text with all of Unicode does not fill the memory."""


class FoldData:
    """The rows of ``fold.tsv``, found by code point in 0.6 MB: a table of all rows takes 6 MB."""

    def __init__(self) -> None:
        self._data = (files("worker.rules.folding") / "data" / "fold.tsv").read_bytes()
        self._points, self._starts = array("I"), array("I")
        start = 0
        for line in self._data.splitlines(keepends=True):
            if not line.startswith(b"#"):
                point, _, _ = line.partition(b"\t")
                self._points.append(int(point, 16))
                self._starts.append(start + len(point) + 1)
            start += len(line)

    def row(self, point: int) -> tuple[str, str] | None:
        """The fold of a code point within its script and as a look-alike; None for one without a row."""
        at = bisect_left(self._points, point)
        if at == len(self._points) or self._points[at] != point:
            return None
        start = self._starts[at]
        own, _, look = self._data[start : self._data.index(b"\n", start)].decode().partition("\t")
        return own.translate(_COARSE), (look or own).translate(_COARSE)


class FoldTable(dict[int, "str | None"]):
    """A ``str.translate`` table that adds a code point when a text contains it."""

    def __init__(self, fold: Fold, known: dict[int, str]) -> None:
        super().__init__(known)
        self._fold = fold

    def __missing__(self, point: int) -> str:
        """The fold of a code point: the default for one without an entry in Unicode's data."""
        row = DATA.row(point)
        if row is None:
            value = _default(point)
        else:
            own, looked = row
            is_own = self._fold is Fold.NATIVE or (self._fold is Fold.LOOKS and own == SEPARATOR)
            value = own if is_own else looked
        if len(self) < MAX_TABLE:
            self[point] = value
        return value


def _tables() -> dict[Fold, FoldTable]:
    coarse = {ord("l"): "i"}  # a letter without a row
    other = coarse | {ord(letter): digit.translate(_COARSE) for letter, digit in LEET_OTHER.items()}
    leet = {ord(sign): letters[0].translate(_COARSE) for sign, letters in LEET.items() if not sign.isdigit()}
    return {
        Fold.NATIVE: FoldTable(Fold.NATIVE, coarse),
        Fold.LOOKS: FoldTable(Fold.LOOKS, other),
        Fold.SIGNS: FoldTable(Fold.SIGNS, other | leet),
    }


DATA = FoldData()
TABLES = _tables()


def _ascii_bytes(fold: Fold) -> bytes:
    return bytes(ord((TABLES[fold][point] or " ")[0]) if point < 128 else 32 for point in range(256))


ASCII_TABLES = {fold: _ascii_bytes(fold) for fold in Fold}
"""256-byte tables for ``bytes.translate``, the fast path of ASCII texts."""


@lru_cache(maxsize=8192)
def natural_form(char: str) -> str:
    """Case and compatibility forms folded, accents kept: what ``exact_accents`` compares."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", char).casefold())


@lru_cache(maxsize=8192)
def base_letter(char: str) -> str:
    """The letter in its own script without case and accents, not coarse (``l`` stays ``l``)."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", char).casefold())
    return "".join(c for c in decomposed if unicodedata.category(c) not in {"Mn", "Me"} or not _is_accent(c))


def _is_accent(mark: str) -> bool:
    return TABLES[Fold.NATIVE][ord(mark)] == ""
