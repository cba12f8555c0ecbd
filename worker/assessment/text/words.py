"""Text as comparable units: sentences by ICU, words, and character pairs in scripts without spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from icu4py.breakers import SentenceBreaker

from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana, Han
    "\U00020000-\U0003ffff"
)
"""Letters of scripts that write no space between words, as ranges of a character class."""

INDIC_LETTERS: Final = "\u0900-\u0963\u0971-\u0df3"
"""Letters and vowel signs of Hindi and the other Indic scripts; the signs are no letters to ``re``."""
_TOKEN = re.compile(
    rf"[{UNSPACED}]+|[{INDIC_LETTERS}]+|[^\W_{UNSPACED}{INDIC_LETTERS}]+(?:['’][^\W\d_{UNSPACED}]+)?"
)
_SPACED_TOKEN = re.compile(rf"[{INDIC_LETTERS}]+|[^\W_{INDIC_LETTERS}]+(?:'[^\W\d_]+)?")
"""Where no script without spaces occurs: faster."""
_UNSPACED_CHAR = re.compile(rf"[{UNSPACED}]")
_VIETNAMESE = re.compile("[ăâđêôơư\u1ea0-\u1ef9]")
_CAMEL = re.compile(r"([a-z])(?=[A-Z])")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_LINE = re.compile(r"[^\r\n]+")
_LIST_ITEM = re.compile(r"^[ \t]*(?:\*\*)?(\d{1,2})[.)][ \t]+", re.MULTILINE)
_ONE_SENTENCE = re.compile(r"[^.!?]*[.!?]*[ \t]*")
"""A line in ASCII without anything after its first stop: ICU does not divide it."""
TITLES: Final = r"Dra?|Prof|Mrs?|Ms|Mme|Sra?|BS"
"""Before names, with a dot."""
_GERMAN_ORDINAL: Final = (
    r"(?i:im|am|der|die|das|dem|den|des|vom|zum|zur|bis|ab|seit|und|ins|beim|jede[rmns]?)\s\d{1,2}"
)
_ABBREVIATED: Final = re.compile(
    rf"(?<!\w)(?:{TITLES}|Nr|bzw|ca|approx|e\.g|i\.e|z|{_GERMAN_ORDINAL})\.$|(?:^|:\s)\d{{1,2}}\.$"
)
"""What ends no sentence, at the end of what ICU takes for one: "Dr.", "z. B.", "am 3. Mai", "1. Click"."""
_LONGEST_ABBREVIATION: Final = 10
"""Characters of it with its dot and the character before it."""
CACHED_WORDS: Final = 8192
"""Of each function here. A word takes 466 bytes in all four: names and numbers, which do not come again,
would fill 65,536 places within hours, 30 MB of a process, for the same share of hits (86 % of 33,080)."""
_TONES = frozenset("\u0300\u0301\u0303\u0309\u0323")
_PLAIN: Final = str.maketrans("đłøı", "dloi")  # letters that have no mark to leave out
_ENDINGS = (("ies", "y"), ("ing", ""), ("ied", "y"), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""))


@lru_cache(maxsize=CACHED_WORDS)
def comparable_unit(word: str) -> str:
    """A folded word as comparable unit.

    Words that differ only in an English ending, or in the place of the tone mark of a Vietnamese syllable
    (``hoà`` and ``hòa``), are equal.
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


def unaccented_text(text: str) -> str:
    """A folded text without its marks, as people type Vietnamese or Polish on a plain keyboard."""
    marks = unicodedata.normalize("NFD", text).translate(_PLAIN)
    return "".join(c for c in marks if not unicodedata.combining(c))


unaccented_unit = lru_cache(maxsize=CACHED_WORDS)(unaccented_text)
"""The same of a unit."""


STOP, DISCOURSE, FUNCTION = (
    list_words(name).union(map(comparable_unit, list_words(name)))
    for name in ("stop", "discourse", "function")
)


def normalised_text(text: str) -> str:
    """The text in NFKC with CamelCase names split (``GoodForGroups``), in its own case."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _CAMEL.sub(r"\1 ", plain) if may_have_camel_case(plain) else plain


def may_have_camel_case(text: str) -> bool:
    """Whether a capital can stand after a small letter; False for most sentences, at the cost of one look."""
    return not text[1:].islower()


def word_tokens(text: str) -> list[str]:
    """Words in order, in their own case; a run of an unspaced script is one token."""
    return (_SPACED_TOKEN if text.isascii() else _TOKEN).findall(text)


def is_unspaced(token: str) -> bool:
    """Whether a token is written without spaces between words."""
    return _UNSPACED_CHAR.match(token) is not None


def text_units(text: str) -> list[str]:
    """Comparable units in order: folded words, or character bigrams of unspaced scripts."""
    return list(_text_units(text))


@once
def _text_units(text: str) -> tuple[str, ...]:
    folded = folded_text(text)
    pattern = _TOKEN if not folded.isascii() and _UNSPACED_CHAR.search(folded) else _SPACED_TOKEN
    return tuple(unit for token in pattern.findall(folded) for unit in _units_of(token))


def content_units(text: str) -> list[str]:
    """Comparable units without the framing words of Vietnamese, which have two syllables ("thông tin").

    Their syllables also occur in words with a meaning of their own, so they cannot be left out one by one.
    """
    if not text.isascii() and _VIETNAMESE.search(folded := folded_text(text)):
        return text_units(list_pattern("framing").sub(" ", folded))
    return text_units(text)


@lru_cache(maxsize=CACHED_WORDS)
def _units_of(token: str) -> tuple[str, ...]:
    if is_unspaced(token):
        return tuple(token[i : i + 2] for i in range(len(token) - 1)) or (token,)
    return (comparable_unit(token.partition("'")[0]),)


def fact_units(found: Sequence[str]) -> list[str]:
    """The units that can state a fact: no grammar words, single letters or (compared separately) numbers."""
    return [u for u in found if u not in STOP and _is_informative(u)]


@lru_cache(maxsize=CACHED_WORDS)
def _is_informative(unit: str) -> bool:
    return not unit.isdigit() and (len(unit) > 1 or is_unspaced(unit))


@once
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Half-open ranges of the sentences and list items with a letter or digit, by ICU's rules for English."""
    return tuple(span for line in _LINE.finditer(text) for span in _spans_of(line.group(), line.start()))


def _spans_of(line: str, start: int) -> Iterator[tuple[int, int]]:
    if line.isascii() and _ONE_SENTENCE.fullmatch(line):
        pieces: Iterable[str] = (line,)
    else:
        pieces = _whole(SentenceBreaker(line, "en"))  # segments() counts UTF-16 units, pieces do not
    for piece in pieces:
        if _LETTER_OR_DIGIT.search(piece):
            yield start, start + len(piece)
        start += len(piece)


def _whole(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces without a break after an abbreviation that ends no sentence."""
    open_piece = ""
    for piece in pieces:
        open_piece += piece
        if _ABBREVIATED.search(open_piece.strip()[-_LONGEST_ABBREVIATION:]) is None:
            yield open_piece
            open_piece = ""
    yield open_piece


def split_sentences(text: str) -> list[str]:
    """The sentences and list items of a text, stripped."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]


def list_numbers(text: str) -> dict[int, int]:
    """Start and end of each number that a text gives the items of a list: two lines or more, from 1 on.

    A line may also begin with a date ("1. Mai").
    """
    lists: list[list[tuple[int, int]]] = []
    for item in _LIST_ITEM.finditer(text):
        if int(item[1]) == 1:
            lists.append([item.span()])
        elif lists and int(item[1]) == len(lists[-1]) + 1:
            lists[-1].append(item.span())
    return {start: end for items in lists if len(items) > 1 for start, end in items}


def encodable_text(text: str) -> str:
    """The text with lone surrogates, which no library can encode, replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
