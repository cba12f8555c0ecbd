"""Whether quotes speak of another subject than the question: of one branch, where it names the other one.

A subject is what a title, a heading, a label or the first cell of a table row names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from worker.assessment.reading.dates import MONTHS, covered_dates, without_date_names
from worker.assessment.reading.languages import content_of
from worker.assessment.reading.model import ReadingRequest
from worker.assessment.reading.names import PREFIX
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.units import BARE
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import list_pattern
from worker.assessment.text.words import (
    is_unspaced,
    text_units,
    unaccented_unit,
)
from worker.model import Quote

_NAME: Final = r"([^\n.!?;:：|。！？；]{2,60})"
_HEAD: Final = re.compile(
    rf"\n(?:\|\s?)?{_NAME}(?=:\s|：|\n\n|\s\|)|(?:[.!?;]\s|[。！？；]){_NAME}(?=:\s|：)"
)
"""A label before a colon, a heading before an empty line, or the first cell of a row."""
_YEAR: Final = re.compile(r"(?<!\d)20\d\d(?!\d)")
Words = frozenset[str]
PassagePart = tuple[int, Words, str]  # where it begins in its passage, the words of title and head, the text


def other_subject(request: ReadingRequest, quotes: Sequence[Quote]) -> str | None:
    """A word of the subject that a question names, where the quotes say of another one what is said of it.

    It names it by half of the words that the other one lacks, or by a number. None where question or draft
    name the subject of the quotes too, or where the draft names that of the question and both names have no
    word in common: "Holidays" may be those of each branch. Of years alone it means that of its day, or the
    last before it.
    """
    rivals = _named_sections(request.question, request.written, request.passages)
    if not rivals:  # as for most questions
        return None
    places = [(*request.passages[each.passage - 1], each.start or 0, each.end) for each in quotes if each.end]
    parts = [[each for each in _sections(*at[:2]) if each[0] <= at[2]][-1] for at in places]
    ours = frozenset().union(*(subject for _, subject, _ in parts))
    before = (text[start:end] for (start, _, _), (_, text, _, end) in zip(parts, places, strict=True))
    asked, said, quoted = map(_names, (request.question, " ".join(request.sentences), "\n".join(before)))
    pieces = (text[start:end] for _, text, start, end in places)
    claims = [(each, _claimed(each) - ours) for each in pieces]
    for named, (_, theirs, text) in rivals:
        only, words = ours - theirs, named - ours
        if not all(map(_YEAR.search, only)):
            named_too = quoted if ours & theirs else quoted | said
            words = frozenset(each for each in words - named_too if not _YEAR.fullmatch(each))
        own = frozenset(filter(str.isalpha, theirs - ours))
        is_named = 2 * len(words & own) >= len(own) or not all(map(str.isalpha, words))
        is_other = bool(only and words) and is_named and only.isdisjoint(asked | said)
        if is_other and any(_is_said_otherwise(*each, asked, text) for each in claims):
            return min(words)
    return None


def _is_said_otherwise(piece: str, words: Words, asked: Words, text: str) -> bool:
    """Whether the text of a section speaks of what a piece of another one says, in other words."""
    parallel, units = _words(text), {*figures(piece).units} - BARE
    return (
        bool(words or covered_dates(text) or units.intersection(figures(text).units))
        and 2 * len(words & parallel) >= len(words)
        and asked.isdisjoint(words - parallel)
        and covered_dates(piece) & MONTHS <= covered_dates(text)
        and piece not in text
    )


@once
def _named_sections(
    question: str, written: str, passages: tuple[tuple[str, str], ...]
) -> list[tuple[Words, PassagePart]]:
    """The sections whose subject a question names, each with the words that do; the current year is named."""
    sections = [section for passage in passages for section in _sections(*passage)]
    asked, now = _names(question), max(_YEAR.findall(written), default="")
    years = (year for _, subject, _ in sections for year in subject if year.isdigit() and year <= now)
    asked |= {max(years, default="")}
    return [(named, each) for each in sections if (named := each[1] & asked)]


@lru_cache(maxsize=512)  # passages: 1 MB
def _sections(title: str, text: str) -> tuple[PassagePart, ...]:
    heads = _HEAD.finditer(f"\n{text}")
    found = [(max(each.start() - 1, 0), without_date_names(each[1] or each[2])) for each in heads]
    starts = [(0, ""), *found, (len(text), "")]
    return tuple((at, _names(f"{title}\n{head}"), text[at:end]) for (at, head), (end, _) in pairwise(starts))


def _names(text: str) -> Words:
    """The words of a text, its years, and its numbers with the words before them ("line 4")."""
    counted = {f"{unaccented_unit(one)} {two}" for one, two in pairwise(text_units(text)) if two.isdigit()}
    return _words(text).union(counted, _YEAR.findall(text))


def _claimed(piece: str) -> Words:
    """The words of a piece without its days and times."""
    undated = list_pattern("every_day").sub(" ", without_date_names(piece))
    return frozenset(
        each for each in _words(undated) if each.isalpha() and (len(each) > 2 or is_unspaced(each))
    )


def _words(text: str) -> Words:
    """Its words without accents and endings."""
    return frozenset(unit[: max(PREFIX, len(unit) - 2)] for unit in map(unaccented_unit, content_of(text)))
