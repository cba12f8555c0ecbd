"""Relevance signals: named numbers from a question, its passages and a draft; each grows with the risk."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from worker.assessment.relevance.answer_kinds import lacks_kind, shows_kind
from worker.assessment.relevance.asked import Asked
from worker.assessment.relevance.matching import Words, missing_share, shared_weight
from worker.assessment.text.once import once
from worker.assessment.text.words import (
    DISCOURSE,
    STOP,
    encodable_text,
    may_have_camel_case,
    normalised_text,
    split_sentences,
    text_units,
    word_tokens,
)
from worker.model import Passage

RELEVANCE_SIGNALS = (
    "unaddressed",
    "echo_gap",
    "off_focus",
    "few_shared",
    "asked_unknown",
    "other_figure",
    "kind_missing",
    "nothing_new",
    "unfinished",
    "repeats_turn",
)
"""The signals that the relevance coefficients may weigh."""

_CAMEL = re.compile(r"\b\w*[a-z][A-Z]\w*")

_LONG = 8
"""New words from which a draft must name its topic itself; a shorter one ("Until 6 pm.") need not."""

_ECHO = (2.0, 8.0)
"""Words, by weight, of a question that a short draft can repeat as a whole; then it must not swap one."""

_ECHO_SHARE = 0.5
"""Largest share of the question that a draft lacks when it repeats the question."""

_FOCUS = 3
"""Sentences of the passages that count as the place a draft was taken from."""

_FOCUS_SHARE = 0.5
"""Share of the best sentence's score from which another sentence belongs to the focus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """The passages as sentences of comparable units.

    Attributes:
        sentences: units of each sentence.
        heads: units of the title of its passage.
        held: unit -> number of sentences with it.
    """

    sentences: tuple[frozenset[str], ...]
    heads: tuple[frozenset[str], ...]
    held: Mapping[str, int]


def passage_text(passages: Sequence[Passage]) -> PassageText:
    """The sentences of the passages, in order."""
    sentences: list[frozenset[str]] = []
    heads: list[frozenset[str]] = []
    for passage in passages:
        title, found = frozenset(_units(passage.title)), _sentence_units(passage.text)
        sentences += found
        heads += (title,) * len(found)
    held = Counter(unit for found in sentences for unit in found)
    return PassageText(sentences=tuple(sentences), heads=tuple(heads), held=held)


@once
def _sentence_units(text: str) -> tuple[frozenset[str], ...]:
    """The units of each sentence of a passage."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", encodable_text(text))
    return tuple(frozenset(_units(sentence)) for sentence in split_sentences(plain))


def _units(text: str) -> list[str]:
    """The units of a text; a CamelCase name both as written and divided."""
    names = _CAMEL.findall(text) if may_have_camel_case(text) else ()
    return [*text_units(normalised_text(text)), *(unit for name in names for unit in text_units(name))]


def relevance_signals(asked: Asked, passages: PassageText, draft: str) -> Mapping[str, float]:
    """The relevance signals of a draft, each 0 or more."""
    said = frozenset(_units(draft))
    new = _new_units(asked, said)
    answers = shows_kind(asked.kind, _without_units(draft, asked.units))
    focus = _focus(passages, asked, new)
    near = Words(said | focus)
    everywhere = said.union(*passages.sentences, *passages.heads)
    length, missing = min(1.0, len(new) / _LONG), missing_share(asked.weights, Words(said))
    return {
        "unaddressed": missing * length,
        "echo_gap": (1.0 - length) if _swaps_a_word(asked, said, missing) else 0.0,
        "off_focus": missing_share(asked.weights, near),
        "few_shared": 1.0 / (1.0 + shared_weight(asked.weights, near)),
        "asked_unknown": missing_share(asked.weights, Words(everywhere)),
        "other_figure": (1.0 - length) if _other_figure(asked.weights, said) else 0.0,
        "kind_missing": float(lacks_kind(asked, draft, new)),
        "nothing_new": float(not new and not answers),
        "unfinished": float(_is_unfinished(draft)),
        "repeats_turn": _repeated_share(asked, new),
    }


def is_short(asked: Asked, draft: str) -> bool:
    """Whether a draft is short enough to answer without repeating a word of the question."""
    return len(_new_units(asked, _units(draft))) < _LONG


def _without_units(draft: str, units: frozenset[str]) -> str:
    """The words of a draft that are not among ``units``; a run of an unspaced script is one word."""
    return " ".join(word for word in word_tokens(draft) if not units.issuperset(text_units(word)))


def _new_units(asked: Asked, said: Collection[str]) -> list[str]:
    return [unit for unit in dict.fromkeys(said) if _states(unit) and unit not in asked.units]


def _states(unit: str) -> bool:
    return (
        unit not in STOP and unit not in DISCOURSE and (len(unit) > 1 or not unit.isascii() or unit.isdigit())
    )


def _focus(passages: PassageText, asked: Asked, new: Collection[str]) -> frozenset[str]:
    """The units of the sentences a draft was taken from; of a bare yes or no, those nearest the question."""
    known = [unit for unit in new if unit in passages.held]
    wanted = known or [unit for unit in asked.weights if unit in passages.held]
    rarity = {unit: 1.0 / math.log(2 + passages.held[unit]) for unit in wanted}
    scores = [sum(rarity[unit] for unit in found & rarity.keys()) for found in passages.sentences]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[:_FOCUS]
    chosen = [at for at in best if scores[at] > 0.0 and scores[at] >= _FOCUS_SHARE * scores[best[0]]]
    return frozenset[str]().union(*(passages.sentences[at] | passages.heads[at] for at in chosen))


def _swaps_a_word(asked: Asked, said: frozenset[str], missing: float) -> bool:
    """Whether a draft repeats a short question except for a word: "The 2019 final ..." of the one of 2021."""
    least, most = _ECHO
    total = sum(asked.weights.values())
    if not (least < total <= most and 0.0 < missing <= _ECHO_SHARE):
        return False
    words = Words(said)
    return any(weight == 1.0 and not words.holds(unit) for unit, weight in asked.weights.items())


def _other_figure(asked: Mapping[str, float], said: Collection[str]) -> bool:
    """Whether the draft lacks a number of the question and has another of the same length, such as a year."""
    lacking = {len(unit) for unit in asked if unit.isdigit() and unit not in said and len(unit) > 1}
    return bool(lacking) and any(
        unit.isdigit() and unit not in asked and len(unit) in lacking for unit in said
    )


def _is_unfinished(draft: str) -> bool:
    """Whether a draft stops before its end: at a colon or comma, or at a word that needs another."""
    text = draft.rstrip()
    if text[-1:] in (":", ",", ";", "：", "，", "、"):
        return True
    last = word_tokens(text)[-1:]
    return text[-1:].isalnum() and bool(last) and last[0].casefold() in STOP


def _repeated_share(asked: Asked, new: Collection[str]) -> float:
    """0..1, share of the draft's new units that the reply before had, when that was the whole reply."""
    before = frozenset(unit for unit in _units(asked.before) if _states(unit))
    both = len(before.intersection(new))
    return both / max(len(before), len(new)) if before and new else 0.0
