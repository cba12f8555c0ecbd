"""What a question asks: its content words with weights and the kind of answer it expects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from worker.assessment.relevance.amounts import asks_price
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, language_pattern, list_words, ordered_list_words
from worker.assessment.text.words import (
    DISCOURSE,
    STOP,
    UNSPACED,
    comparable_unit,
    is_unspaced,
    normalised_text,
    text_units,
    unaccented_unit,
    word_tokens,
)
from worker.model import Message, MessageRole

GENERIC_WEIGHT = 0.3
"""Weight of a word that many questions share ("open", "cost", "best"), and of the turn before a follow-up."""

_HEAD_WORDS = 4
"""Words at the start of a question among which a European language has its question word."""

_ONE_TOPIC = 1.0
_MOST_ELLIPTIC = 1.6
"""Weight of the words up to which a question that points back ("it") needs the turn before."""

_IN_SITU = ("vi", "zh", "ja")
_HEADED = ("en", "de", "es", "fr", "it", "pt")
_VIETNAMESE = re.compile(r"[ăâđêôơưáàãéèíìóòõúùýỳ\u1ea0-\u1ef9]", re.IGNORECASE)
_GRAMMAR = re.compile(
    "请问|我们|你们|这款|您|我|你|的|是|在|了|吗|嗎|呢|吧|啊|和|与|與|就|都|也|は|が|を|に|の|です|ます|か"
)
_UNSPACED_CHAR = re.compile(rf"[{UNSPACED}]")


class AnswerKind(StrEnum):
    """The kind of answer that a question expects."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    AMOUNT = "amount"
    REASON = "reason"
    WAY = "way"
    YES_NO = "yes_no"
    THING = "thing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an author asks.

    Attributes:
        weights: unit -> 0..1, how much a reply should be about it; empty when nothing can be
            compared.
        units: every unit of the question, grammar and question words too; a reply that has no other says
            nothing.
        kind: the kind of answer expected, or None when the words do not say.
        follow_up: whether the turn before was needed to read the question.
        before: what we answered in the turn before, or empty.
        price: whether the amount asked for is a sum of money.
    """

    weights: Mapping[str, float]
    units: frozenset[str]
    kind: AnswerKind | None
    follow_up: bool = False
    before: str = ""
    price: bool = False


def is_task(query: str) -> bool:
    """Whether a text asks for work on the passages ("Summarise ...") instead of asking about something."""
    head = " ".join(query.split()[:6]) if not _UNSPACED_CHAR.search(query) else query[:12]
    return language_pattern("tasks", (*_HEADED, *_IN_SITU)).search(folded_text(head)) is not None


def asked_for(query: str, history: Sequence[Message] = ()) -> Asked | None:
    """What ``query`` asks, read with the conversation before it; None when relevance cannot be measured.

    A task, or a text without a content word, cannot be compared with a draft.
    """
    before = next((m.text for m in reversed(history) if m.role is MessageRole.ASSISTANT), "")
    return _asked_after(query, previous_question(history), before)


@once
def _asked_after(query: str, earlier: str, before: str) -> Asked | None:
    """What ``query`` asks after the author's turn ``earlier`` and our turn ``before``."""
    if is_task(query):
        return None
    weights, kind = question_weights(query), expected_kind(query)
    follow_up = bool(earlier) and _is_elliptic(query, weights)
    if follow_up:
        weights = dict.fromkeys(question_weights(earlier), GENERIC_WEIGHT) | weights
        kind = kind if kind not in (None, AnswerKind.THING) else expected_kind(earlier)
    if not weights:
        return None
    return Asked(
        weights=weights,
        units=frozenset(text_units(normalised_text(query))),
        kind=kind,
        follow_up=follow_up,
        before=before,
        price=kind is AnswerKind.AMOUNT and (asks_price(query) or (follow_up and asks_price(earlier))),
    )


def previous_question(history: Sequence[Message]) -> str:
    """The author's turn before, or empty."""
    return next((m.text for m in reversed(history) if m.role is MessageRole.USER), "")


def _is_elliptic(query: str, weights: Mapping[str, float]) -> bool:
    """Whether a question cannot be read alone: it starts or points like a follow-up, or names too little."""
    total = sum(weights.values())
    if total > 2 * _MOST_ELLIPTIC:
        return False
    folded = folded_text(query).strip(" ¿¡")
    if _pattern("asks_more", query).match(folded) is not None or total < _ONE_TOPIC:
        return True
    if total <= _ONE_TOPIC and expected_kind(query) is None:
        return True
    return total <= _MOST_ELLIPTIC and _pattern("points_back", query).search(folded) is not None


def question_weights(query: str) -> dict[str, float]:
    """The content units of a question with their weights; question words are left out."""
    text = _without_question_words(normalised_text(query))
    generic = _generic() | _unaccented_generic() if _VIETNAMESE.search(query) else _generic()
    found: dict[str, float] = {}
    for unit in text_units(text):
        if unit not in STOP and (len(unit) > 1 or unit.isdigit()):
            found[unit] = GENERIC_WEIGHT if unit in generic else 1.0
    return found


def _without_question_words(text: str) -> str:
    """The text without its question words; in a script without spaces grammar would form pairs."""
    if _UNSPACED_CHAR.search(text):
        for kind in AnswerKind:
            if kind is not AnswerKind.YES_NO:
                text = language_pattern(f"asks_{kind}", ("zh", "ja")).sub(" ", text)
        return _GRAMMAR.sub(" ", text)
    folded = folded_text(text)
    if (asked := _question_word(folded)) is None:
        return folded
    match, _ = asked
    return f"{folded[: match.start()]} {folded[match.end() :]}"


def expected_kind(query: str) -> AnswerKind | None:
    """The kind of answer that the question word asks for."""
    asked = _question_word(folded_text(query))
    return asked[1] if asked else None


@lru_cache(maxsize=64)  # asked for the words and for the kind, before and after the judge
def _question_word(folded: str) -> tuple[re.Match[str], AnswerKind] | None:
    """The first question word; of two that overlap the longer phrase."""
    found = [
        (match.start(), -len(match.group()), order, match, kind)
        for order, kind in enumerate(AnswerKind)
        if (match := _first_placed(folded, kind)) is not None
    ]
    if not found:
        return None
    end = min(found)[3].end()
    return min((each for each in found if each[0] < end), key=lambda each: each[1:3] + each[:1])[3:]


def _first_placed(folded: str, kind: AnswerKind) -> re.Match[str] | None:
    matches = _pattern(f"asks_{kind}", folded).finditer(folded)
    return next((match for match in matches if _is_placed(match, folded, kind)), None)


def _is_placed(match: re.Match[str], folded: str, kind: AnswerKind) -> bool:
    """Whether a question word is where its language has it; a verb asks for yes or no only at the start."""
    if is_unspaced(match.group()) or _VIETNAMESE.search(folded):
        return True
    words_before = len(word_tokens(folded[: match.start()]))
    return words_before == 0 if kind is AnswerKind.YES_NO else words_before < _HEAD_WORDS


def _pattern(name: str, query: str) -> re.Pattern[str]:
    in_situ = _UNSPACED_CHAR.search(query) or _VIETNAMESE.search(query)
    return language_pattern(name, (*_IN_SITU, *_HEADED) if in_situ else _HEADED)


@cache
def _generic() -> frozenset[str]:
    words = list_words("no_topics") | list_words("question_fillers") | list_words("question_aspects")
    return words | frozenset(map(comparable_unit, words)) | DISCOURSE


@cache
def _unaccented_generic() -> frozenset[str]:
    """The Vietnamese ones as people type them on a plain keyboard."""
    lists = ("no_topics", "question_fillers", "question_aspects")
    return frozenset(unaccented_unit(w) for name in lists for w in ordered_list_words(name, "vi"))
