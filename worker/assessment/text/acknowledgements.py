"""Acknowledgements: "ok", "thank you, that was all", "haha", a thumb. A message that needs no answer.

Listed phrases make up all of such a message. Any other word makes a message content, as do a question mark, a
digit, and a sign of displeasure or haste. The lists are in ``wordlists.json``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

from worker.assessment.text.once import once
from worker.assessment.text.small_talk import is_segmented
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words, one_of
from worker.assessment.text.words import is_unspaced, split_sentences, word_tokens

_MOST_CHARS: Final = 300
"""Longest acknowledgement; a longer text also says something else."""
_LEAST_SYLLABLES: Final = 2
"""Least syllables of a laugh: "haha", "kk"."""
_REPEATED: Final = re.compile(r"([^\W\d_])\1+")
_CLAUSE_END: Final = re.compile(r"[,.;:!。，！]+")
_THANKED_FOR: Final = re.compile(r"(?: \w+){0,2} (?:for|für|pour|por|per|pela|pelo|voor|za)(?: \w+){1,3}")
"""What thanks are for, in few words; the French "merci de" asks for something."""
_MOST_AFTER: Final = 6
"""Words after thanks of which one may be unknown."""
_QUESTION_MARKS: Final = ("?", "？", "؟")
_CLOSERS: Final = " !！:;()-（）]\"'”’»」』"
_LEAST_QUESTION_WORDS: Final = 4
"""Words, or letters of scripts without spaces, from which a question is no "Hello?" or "Quick question?"."""


@once
def is_acknowledgement(text: str) -> bool:
    """Whether a message only acknowledges, thanks, praises, laughs or says goodbye, in words or signs."""
    if not text.strip() or len(text) > _MOST_CHARS:
        return False
    if has_content_signs(text):
        return False
    plain = _folded(text)
    units = _units(word_tokens(_kind_signs().sub(" ", plain)))
    return not units or (is_segmented(units, _phrases() | _fillers()) and not is_segmented(units, _fillers()))


@once
def only_thanks(text: str) -> bool:
    """Whether a message acknowledges, and thanks for something, and asks for nothing beside."""
    if has_content_signs(text):
        return False
    clauses = filter(None, map(str.strip, _CLAUSE_END.split(_kind_signs().sub(" ", _folded(text)))))
    return all(is_acknowledgement(each) or _thanks_for(each) for each in clauses)


def _thanks_for(clause: str) -> bool:
    """Whether a folded clause thanks for something, or in a word more than is listed ("merci bcp")."""
    found = list_pattern("thanks_heads").search(clause)
    if found is None or list_pattern("agreeing").search(found[0]) is not None:
        return False
    if found.start() == 0 and _THANKED_FOR.fullmatch(clause, found.end()):
        return True
    before, after = clause[: found.end()], clause[found.end() :].split()
    if len(after) > _MOST_AFTER:
        return False
    shorter = (" ".join((before, *after[:place], *after[place + 1 :])) for place in range(len(after)))
    return any(map(is_acknowledgement, shorter))


def has_content_signs(text: str) -> bool:
    """Whether a message has a question mark, a digit, or a sign of displeasure or haste."""
    return _content_signs().search(_folded(text)) is not None


def is_finished_question(text: str) -> bool:
    """Whether a message ends in a question of several words, thanks and signs after it apart."""
    sentences = split_sentences(_kind_signs().sub(" ", _folded(text)))
    while len(sentences) > 1 and is_acknowledgement(sentences[-1]):
        sentences.pop()
    if not sentences or not sentences[-1].rstrip(_CLOSERS).endswith(_QUESTION_MARKS):
        return False
    return len(_letters_and_words(word_tokens(sentences[-1]))) >= _LEAST_QUESTION_WORDS


def waits_for_answer(text: str) -> bool:
    """Whether a reply asks its reader for something; an offer of more help does not."""
    return any(_asks(sentence) for sentence in split_sentences(folded_text(text)))


def _asks(sentence: str) -> bool:
    asks = sentence.endswith(_QUESTION_MARKS) or list_pattern("asks_back").search(sentence)
    return bool(asks) and list_pattern("offers_of_more").search(sentence) is None


@cache
def _phrases() -> frozenset[tuple[str, ...]]:
    return _split("acknowledgements")


@cache
def _fillers() -> frozenset[tuple[str, ...]]:
    """Phrases that only accompany an acknowledgement, such as "so much" and "for your help"."""
    return _split("acknowledgement_fillers")


def _split(name: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(_letters_and_words(word_tokens(_folded(each)))) for each in list_words(name))


@cache
def _known_words() -> frozenset[str]:
    return frozenset(unit for phrase in _phrases() | _fillers() for unit in phrase)


@cache
def _content_signs() -> re.Pattern[str]:
    return re.compile(one_of(sorted(list_words("content_signs"))))


@cache
def _kind_signs() -> re.Pattern[str]:
    signs = sorted(map(folded_text, list_words("kind_signs")), key=len, reverse=True)
    return re.compile(rf"(?<!\w){one_of(signs)}(?!\w)")


def _units(found: Iterable[str]) -> list[str]:
    """The units of a message without its laughter; words with repeated letters ("thankssss") as listed."""
    return _letters_and_words(
        token if is_unspaced(token) else _spelled(token) for token in found if not _laughs(token)
    )


def _letters_and_words(found: Iterable[str]) -> list[str]:
    """Words, and single letters of scripts without spaces."""
    return [unit for token in found for unit in (token if is_unspaced(token) else (token,))]


def _spelled(token: str) -> str:
    if token in _known_words():
        return token
    spellings = (_REPEATED.sub(kept, token) for kept in (r"\1\1", r"\1"))
    return next((each for each in spellings if each in _known_words()), token)


def _laughs(token: str) -> bool:
    return any(
        set(token) == set(syllable) and token.count(syllable) >= _LEAST_SYLLABLES for syllable in _laughter()
    )


@cache
def _laughter() -> frozenset[str]:
    return frozenset(map(_folded, list_words("laughter")))


def _folded(text: str) -> str:
    """Folded text with signs and letters in their usual width and form."""
    return folded_text(unicodedata.normalize("NFKC", text))
