"""Traditional and simplified Han characters of Unicode's Unihan database that ICU's transform leaves out."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path

Variants = dict[str, dict[str, list[str]]]
"""Field -> character -> its variants."""


def read_variants(path: Path) -> tuple[str, Variants]:
    """The Unicode version and the variants in ``Unihan_Variants.txt`` (``.bz2``)."""
    found: Variants = {"kSimplifiedVariant": {}, "kTraditionalVariant": {}}
    version = ""
    with bz2.open(path, "rt", encoding="utf-8") if path.suffix == ".bz2" else path.open() as lines:
        for line in lines:
            if line.startswith("# Unicode version: "):
                version = line.split()[-1]
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 3 and fields[1] in found:
                found[fields[1]][_char(fields[0])] = [_char(point) for point in fields[2].split()]
    return version, found


def _char(point: str) -> str:
    """The character of ``U+4E18<kMatthews``."""
    return chr(int(point.removeprefix("U+").split("<")[0], base=16))


def more_simplified(variants: Variants, simplified: Callable[[str], str]) -> dict[str, str]:
    """The character that stands for each one that ``simplified`` (ICU) leaves as it is.

    A character that is its own variant too (``覆``) stays: it is a word of its own in simplified Chinese.
    """
    more: dict[str, str] = {}
    for char, listed in variants["kSimplifiedVariant"].items():
        if char not in listed and simplified(char) == char:
            more[char] = simplified(listed[0])
    for char, listed in variants["kTraditionalVariant"].items():
        if len(listed) == 1 and char not in more and simplified(char) == char != simplified(listed[0]):
            more[char] = more.get(listed[0], simplified(listed[0]))
    return {char: more.get(target, target) for char, target in more.items() if target != char}
