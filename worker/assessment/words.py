"""Text as comparable units: sentences by ICU, words, syllables, and bigrams where a script has no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from icu4py.breakers import SentenceBreaker

from worker.assessment.wordlists import words_of

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana, Han
    "\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W\d_{_UNSPACED}]+)?")
_SPACED_TOKEN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")  # where no unspaced script occurs: faster
_UNSPACED_CHAR = re.compile(rf"[{_UNSPACED}]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_LINE = re.compile(r"[^\r\n]+")
_TONES = frozenset("\u0300\u0301\u0303\u0309\u0323")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""))


@lru_cache(maxsize=65536)
def unit_of(word: str) -> str:
    """A folded word as it is compared.

    English endings do not make another word, nor does where a Vietnamese syllable writes its tone mark
    (``hoà`` and ``hòa``).
    """
    if not word.isascii():
        return _tone_last(word)
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, kept in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            stem = word[: -len(ending)] + kept
            return stem.removesuffix("e")
    return word.removesuffix("e")


def _tone_last(word: str) -> str:
    marks = unicodedata.normalize("NFD", word)
    tone = "".join(c for c in marks if c in _TONES)
    return "".join(c for c in marks if c not in _TONES) + tone if tone else word


@lru_cache(maxsize=65536)
def unaccented(unit: str) -> str:
    """A unit without its marks, as people type Vietnamese on a plain keyboard."""
    marks = unicodedata.normalize("NFD", unit).replace("đ", "d")
    return "".join(c for c in marks if not unicodedata.combining(c))


STOP: frozenset[str] = words_of("stop") | frozenset(unit_of(w) for w in words_of("stop"))
DISCOURSE: frozenset[str] = words_of("discourse") | frozenset(unit_of(w) for w in words_of("discourse"))


def normalised(text: str) -> str:
    """The text in NFKC with CamelCase names opened (``GoodForGroups``), still in its own case."""
    return _CAMEL.sub(" ", unicodedata.normalize("NFKC", text))


def tokens(text: str) -> list[str]:
    """Words in order, in their own case; a run of an unspaced script is one token."""
    return _TOKEN.findall(text)


def is_unspaced(token: str) -> bool:
    """Whether a token is written without spaces between words."""
    return _UNSPACED_CHAR.match(token) is not None


def units(text: str) -> list[str]:
    """Comparable units in order: folded words, or character bigrams of unspaced scripts."""
    found: list[str] = []
    folded = text.casefold().replace("’", "'")
    pattern = _TOKEN if _UNSPACED_CHAR.search(folded) else _SPACED_TOKEN
    for token in pattern.findall(folded):
        found += _units_of(token)
    return found


@lru_cache(maxsize=65536)
def _units_of(token: str) -> tuple[str, ...]:
    if is_unspaced(token):
        return tuple(token[i : i + 2] for i in range(len(token) - 1)) or (token,)
    return (unit_of(token.partition("'")[0]),)


def facts(found: Sequence[str]) -> list[str]:
    """The units that can carry a fact: no grammar, no lone letter; numbers are compared apart."""
    return [u for u in found if u not in STOP and _is_telling(u)]


@lru_cache(maxsize=65536)
def _is_telling(unit: str) -> bool:
    return not unit.isdigit() and (len(unit) > 1 or is_unspaced(unit))


def sentence_spans(text: str, language: str = "en") -> Iterator[tuple[int, int]]:
    """Half-open ranges of the sentences and list items that hold a letter or digit, by ICU's rules."""
    for line in _LINE.finditer(text):
        start = line.start()
        for piece in SentenceBreaker(line.group(), language):  # segments() counts UTF-16 units, pieces do not
            if _LETTER_OR_DIGIT.search(piece):
                yield start, start + len(piece)
            start += len(piece)


def sentences(text: str, language: str = "en") -> list[str]:
    """The sentences and list items of a text, stripped."""
    return [text[start:end].strip() for start, end in sentence_spans(text, language)]


def legible(text: str) -> str:
    """The text with lone surrogates, which no library can encode, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
