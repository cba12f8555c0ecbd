"""Whether a draft contains the kind of answer that a question expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from worker.assessment.relevance.asked import AnswerKind, Asked
from worker.assessment.relevance.prices import has_price, without_prices
from worker.assessment.text.language import main_script
from worker.assessment.text.quantities import times_of_day
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words
from worker.assessment.text.words import split_sentences, word_tokens

_DIGIT = re.compile(r"\d")
_AFTER_TIME = r"\s*(?:$|[-–,;.!?]|(?:to|until|till|and|or|am|pm|a\.m|p\.m)\b)"
"""What follows a number that is a time of day."""

_LONG = 12
"""Words from which a draft may give a reason or name a person without a word that shows it."""


def lacks_kind(asked: Asked, draft: str, new_words: Sequence[str]) -> bool:
    """Whether a draft certainly lacks the kind of answer expected.

    Args:
        asked: with the kind expected; every draft can be an answer to a question without one.
        draft: the whole draft.
        new_words: its content words that the question does not have.
    """
    shows = has_price if asked.price else _SHOWS.get(asked.kind) if asked.kind is not None else None
    return shows is not None and len(new_words) < _LONG and not shows(draft)


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
    placed = _time_phrase().sub(" x ", draft)
    return _names_something(placed) or list_pattern("says_place").search(folded_text(placed)) is not None


@cache
def _time_phrase() -> re.Pattern[str]:
    """A word of time, or a number that is no house number, with the preposition before it."""
    heads = "|".join(map(re.escape, sorted(list_words("says_place"))))
    times = "|".join(map(re.escape, sorted(list_words("says_time"), key=len, reverse=True)))
    numbers = "|".join(map(re.escape, sorted(list_words("number_words"))))
    number = rf"(?:\d[\d:.]*(?:st|nd|rd|th)?|{numbers})\b(?={_AFTER_TIME}|\s+(?:{times})\b)"
    return re.compile(rf"\b(?:(?:{heads})\s+(?:the\s+)?)?(?:{number}|(?:{times})\b)", re.IGNORECASE)


def _names_something(draft: str) -> bool:
    """Whether a word has a capital inside a sentence, or the script has no capitals."""
    if main_script(draft) not in ("latin", "cyrillic", "greek"):
        return True
    for part in split_sentences(draft):
        found = word_tokens(part)
        inner = found[1:] if len(found) > 1 else found
        if any(word[0].isupper() and word != "I" for word in inner):
            return True
        if found and len(found) <= 2 and found[0][0].isupper() and not says_yes_or_no(part):
            return True
    return False


def _has_time(draft: str) -> bool:
    """A number that is no sum of money, or a word of time."""
    return (
        _has_digit(without_prices(draft)) or list_pattern("says_time").search(folded_text(draft)) is not None
    )


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


def says_yes_or_no(draft: str) -> bool:
    """Whether a draft begins with a word of agreement or denial."""
    return list_pattern("says_yes_no").match(folded_text(draft).lstrip(" ¡")) is not None


_SHOWS: Mapping[AnswerKind, Callable[[str], bool]] = {
    AnswerKind.PERSON: _has_person,
    AnswerKind.PLACE: _has_place,
    AnswerKind.TIME: _has_time,
    AnswerKind.AMOUNT: _has_amount,
    AnswerKind.REASON: _has_reason,
}
"""How a kind is recognised; a way, a thing, yes or no can be answered with any words."""
