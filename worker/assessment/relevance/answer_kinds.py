"""Whether a draft contains the kind of answer that a question expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from worker.assessment.relevance.amounts import (
    has_price,
    has_time,
    is_only_time_or_sum,
    without_numbers,
    without_times,
)
from worker.assessment.relevance.asked import AnswerKind, Asked
from worker.assessment.text.language import main_script
from worker.assessment.text.quantities import times_of_day
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import split_sentences, word_tokens

_DIGIT = re.compile(r"\d")
_LONG = 12
"""Words from which a draft may give a reason or name a person without a word that shows it."""


def lacks_kind(asked: Asked, draft: str, new_words: Sequence[str]) -> bool:
    """Whether a draft certainly lacks the kind of answer expected.

    Args:
        asked: with the kind expected; every draft can be an answer to a question without one.
        draft: the whole draft.
        new_words: its content words that the question does not have.
    """
    if asked.kind is None or len(new_words) >= _LONG:
        return False
    if asked.price:
        return _is_bare_yes_or_no(draft) or not has_price(without_numbers(draft, asked.units))
    shows = _SHOWS.get(asked.kind)
    return shows is not None and not shows(draft)


def shows_kind(kind: AnswerKind | None, draft: str) -> bool:
    """Whether a draft shows the kind of answer expected, even if it has no word of its own ("No.")."""
    if kind is AnswerKind.YES_NO:
        return says_yes_or_no(draft)
    shows = _SHOWS.get(kind) if kind is not None else None
    return shows is not None and bool(draft.strip()) and shows(draft)


def _has_person(draft: str) -> bool:
    return _names_something(draft) or list_pattern("says_person").search(folded_text(draft)) is not None


def _has_place(draft: str) -> bool:
    """A name or a word of place; "from nine to six on Saturday" has neither."""
    placed = without_times(draft)
    return _names_something(placed) or list_pattern("says_place").search(folded_text(placed)) is not None


def _names_something(draft: str) -> bool:
    """Whether a word has a capital inside a sentence, or the script has no capitals and there is a word."""
    if main_script(draft) not in ("latin", "cyrillic", "greek"):
        return not is_only_time_or_sum(draft)
    for part in split_sentences(draft):
        found = word_tokens(part)
        inner = found[1:] if len(found) > 1 else found
        if any(word[0].isupper() and word != "I" for word in inner):
            return True
        if found and len(found) <= 2 and found[0][0].isupper() and not says_yes_or_no(part):
            return True
    return False


def _has_amount(draft: str) -> bool:
    return _has_digit(draft) or list_pattern("says_amount").search(folded_text(draft)) is not None


def _has_digit(draft: str) -> bool:
    return _DIGIT.search(draft) is not None or bool(times_of_day(draft))


def _has_reason(draft: str) -> bool:
    folded = folded_text(draft).lstrip()
    return (
        list_pattern("says_reason").search(folded) is not None
        or list_pattern("says_reason_heads").match(folded) is not None
    )


def _is_bare_yes_or_no(draft: str) -> bool:
    found = list_pattern("says_yes_no").fullmatch(folded_text(draft).strip(" ¡!.。"))
    return found is not None


def says_yes_or_no(draft: str) -> bool:
    """Whether a draft begins with a word of agreement or denial."""
    return list_pattern("says_yes_no").match(folded_text(draft).lstrip(" ¡")) is not None


_SHOWS: Mapping[AnswerKind, Callable[[str], bool]] = {
    AnswerKind.PERSON: _has_person,
    AnswerKind.PLACE: _has_place,
    AnswerKind.TIME: has_time,
    AnswerKind.AMOUNT: _has_amount,
    AnswerKind.REASON: _has_reason,
}
"""How a kind is recognised; a way, a thing, yes or no can be answered with any words."""
