"""Whether extracted text is language: letters without a map to Unicode give signs that no search finds."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LATIN_WORD: Final = re.compile(r"[^\W\d_]{4,}")
ANY_WORD: Final = re.compile(r"[^\W_]+")
VOWELS: Final = frozenset("aeiouyäöüåæøœéèêëáàâãíìîïóòôõúùûýąęěůőűıăāēīōū")
LETTERS: Final = 60
FEW_VOWELS: Final = 0.22
"""No language in Latin script is below 0.3 in running text; letters shifted by a font are at 0.1 to 0.2."""
LONG_WORD: Final = 24
STRANGE: Final = 0.1


def is_legible(text: str) -> bool:
    """Whether a page's text can be read; short texts are given the benefit of the doubt."""
    solid = [char for char in text if not char.isspace()]
    if not solid:
        return True
    strange = sum(
        unicodedata.category(char) in ("Co", "Cn", "Cc", "Cs") or char == "\ufffd" for char in solid
    )
    if strange > STRANGE * len(solid):
        return False
    return _has_vowels(text) and _has_words(text) and not _is_mixed(text)


def _has_vowels(text: str) -> bool:
    words = [word for word in LATIN_WORD.findall(text) if word[0] < "\u0250"]
    letters = "".join(words).lower()
    if len(letters) < LETTERS:
        return True
    plain = unicodedata.normalize("NFD", letters)
    return sum(char in VOWELS for char in plain) >= FEW_VOWELS * len(letters)


def _has_words(text: str) -> bool:
    """Whether Latin text has spaces between its words."""
    words = [word for word in ANY_WORD.findall(text) if word[0] < "\u0250"]
    letters = sum(map(len, words))
    return letters < 2 * LETTERS or letters / len(words) < LONG_WORD


def _is_mixed(text: str) -> bool:
    """Whether many words mix scripts, or capitals and digits in their middle."""
    words = [word for word in ANY_WORD.findall(text) if len(word) > 3]
    if len(words) < 10:
        return False
    return sum(_is_odd(word) for word in words) > 0.4 * len(words)


def _is_odd(word: str) -> bool:
    scripts = {unicodedata.name(char, "?").split(" ")[0] for char in word if char.isalpha()}
    if len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "ARMENIAN"}) > 1:
        return True
    inner = word[1:]
    return any(map(str.islower, inner)) and sum(map(str.isupper, inner)) > 1 and not word.isupper()
