"""Topics of a question that no passage mentions, in the question's own words; doubtful ones are left out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from icu4py.breakers import WordBreaker

from worker.assessment.text.small_talk import all_small_talk, is_small_talk
from worker.assessment.text.wordlists import folded_text, list_words, ordered_list_words
from worker.assessment.text.words import (
    DISCOURSE,
    STOP,
    UNSPACED,
    is_unspaced,
    normalised_text,
    text_units,
    unaccented_unit,
)

_MOST_TOPICS = 5
_MOST_CHARS = 1000
"""Start of a question that is searched for topics: about 5 ms."""
_MOST_WORDS = 3
_MOST_SYLLABLES = 4
"""Most words of one topic; Vietnamese writes each syllable as a word."""

_HAN_CHARS = (2, 8)
"""Fewest and most characters of a topic in Chinese or Japanese."""

_ADDRESS = re.compile(r"https?://\S+|www\.\S+|\S+@\S+|[@#]\w+")
_PIECE = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:[-'’][^\W_{UNSPACED}]+)*|\S")
_HAN_OR_KATAKANA = re.compile(r"[\u30a0-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_VIETNAMESE = re.compile(r"[ăâđêôơư\u1ea0-\u1ef9]", re.IGNORECASE)
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff'’-]+")
_ARTICLE = re.compile(r"^\w{1,2}['’]")
_POSSESSIVE = re.compile(r"['’]\w{1,2}$")
_PRONOUNS = frozenset({"i", "you", "we", "they", "he", "she", "it", "who"})
_DETERMINERS = frozenset(
    {"the", "a", "an", "my", "your", "our", "his", "her", "their", "this", "that", "it", "me"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The content of the passages: their units without accents, and their text for unspaced scripts."""

    units: frozenset[str]
    text: str

    def has(self, word: str) -> bool:
        """Whether the passages contain a word, with any ending or accents."""
        return all(unaccented_unit(unit) in self.units for unit in text_units(normalised_text(word)))

    def has_most_of(self, run: str) -> bool:
        """Whether the passages contain half of the character pairs of an unspaced run."""
        pairs = text_units(normalised_text(run))
        return 2 * sum(unaccented_unit(pair) in self.units for pair in pairs) >= len(pairs)


def unknown_topics(query: str, context: str) -> tuple[str, ...]:
    """Noun-like phrases of a question that no passage contains, as written in the question (NFC)."""
    text = _ADDRESS.sub(" . ", unicodedata.normalize("NFC", query[:_MOST_CHARS]))
    if is_small_talk(folded_text(text)):
        return ()
    known = _Known(units=frozenset(map(unaccented_unit, text_units(normalised_text(context)))), text=context)
    found: dict[str, str] = {}
    for run in _runs(text):
        topic = _topic(run, known)
        if topic is not None:
            found.setdefault(" ".join(text_units(normalised_text(topic))), topic)
    return tuple(found.values())[:_MOST_TOPICS]


def _topic(run: Sequence[str], known: _Known) -> str | None:
    """A run of neighbouring words as one topic: a short run whole, of a longer run the unknown words."""
    if is_unspaced(run[0]):
        fits = _HAN_CHARS[0] <= len(run[0]) <= _HAN_CHARS[1]
        return run[0] if fits and not known.has_most_of(run[0]) else None
    unknown = [word for word in run if not known.has(word)]
    most = _MOST_SYLLABLES if _VIETNAMESE.search(" ".join(run)) else _MOST_WORDS
    if not unknown:
        return None
    if len(run) <= most:
        return _POSSESSIVE.sub("", " ".join(run))
    neighbours = run[run.index(unknown[0]) :][: len(unknown)] == unknown
    return _POSSESSIVE.sub("", " ".join(unknown)) if neighbours and len(unknown) <= most else None


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Neighbouring words that may name a thing, divided at grammar words, verbs and punctuation."""
    pieces = _PIECE.findall(text)
    if _is_plain_vietnamese(pieces):
        return
    german = _is_german(pieces)
    run: list[str] = []
    for number, piece in enumerate(pieces):
        if is_unspaced(piece):
            yield from ((each,) for each in _unspaced_runs(piece))
        word = _ARTICLE.sub("", piece)
        verb = bool(run) and _is_past(word)
        if _is_noun_like(word, pieces, number) and not verb and not (german and word.islower()):
            run.append(word)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _is_noun_like(word: str, pieces: Sequence[str], number: int) -> bool:
    """Whether a word may name a thing: no grammar word or common verb, and not in the place of a verb."""
    low = folded_text(_POSSESSIVE.sub("", word))
    shortest = 2 if word.isupper() or any(map(_VIETNAMESE.search, pieces)) else 3
    if not _LATIN_WORD.fullmatch(word) or len(low) < shortest:
        return False
    if not {low, *text_units(low)}.isdisjoint(_no_topics()) or all_small_talk([low]):
        return False
    before = folded_text(pieces[number - 1]) if number else ""
    after = folded_text(pieces[number + 1]) if number + 1 < len(pieces) else ""
    return before not in _PRONOUNS and not (before == "to" and after in _DETERMINERS)


def _is_past(word: str) -> bool:
    """Whether an English word after a noun is a verb in the past: "the card charged"."""
    return word.endswith("ed") and len(word) > 4


def _unspaced_runs(text: str) -> Iterator[str]:
    """The text between grammar words in a script without spaces; kana without Han counts as grammar."""
    run = ""
    for piece in WordBreaker(text, "zh"):
        if _HAN_OR_KATAKANA.fullmatch(piece) and piece not in list_words("no_topics"):
            run += piece
        elif run:
            yield run
            run = ""
    if run:
        yield run


def _is_plain_vietnamese(pieces: Sequence[str]) -> bool:
    """Whether a text is Vietnamese typed without accents, whose words are ambiguous."""
    low = {folded_text(piece) for piece in pieces}
    others = max(len(low & _grammar(language)) for language in ("en", "de", "es", "fr"))
    return "".join(low).isascii() and len(low & _plain_vietnamese()) > others


def _is_german(pieces: Sequence[str]) -> bool:
    """Whether most grammar words are German, which writes every noun with a capital."""
    low = {folded_text(piece) for piece in pieces}
    german, *others = (len(low & _grammar(language)) for language in ("de", "en", "fr", "es", "vi"))
    return german > max(others)


@cache
def _grammar(language: str) -> frozenset[str]:
    return frozenset(ordered_list_words("stop", language))


@cache
def _plain_vietnamese() -> frozenset[str]:
    return frozenset(map(unaccented_unit, _grammar("vi"))) - {"a", "i"}


@cache
def _no_topics() -> frozenset[str]:
    return STOP | DISCOURSE | list_words("no_topics")
