"""A judge's reading after code has checked it: what each sentence is worth, and why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, count, islice
from typing import Final

from worker.assessment.reading.courtesies import (
    asks_back,
    has_no_figures,
    may_be_removed,
    says_moment,
    states_nothing,
    thanks_back,
)
from worker.assessment.reading.facts import Fact, disagreements
from worker.assessment.reading.model import Reading, ReadingRequest, SentenceReading
from worker.assessment.reading.subjects import other_subject
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import sentence_spans, word_tokens
from worker.model import Quote, ReadSentence, Verdict

UNPROVEN: Final = 0.0
"""Support of a sentence that the judge does not support, or whose verdict does not stand."""
NEEDS_NONE: Final = 1.0
"""Support of a draft that states nothing, and asks, thanks or declines."""
ASKED_NOTHING: Final = 1.0
"""Relevance of a draft that is checked without a message: there is no question that it can miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReading:
    """A draft, read and checked.

    Attributes:
        needs_none: whether the draft states nothing, and asks its reader for something, thanks for praise, or
            declines what the account does not deal with.
        relevance: 0..1, probability that the draft answers the question.
        left_out: what the draft leaves out of the question; often empty.
        removed: places in the draft of sentences that are not sent: courtesies that only the judge knows.
    """

    sentences: tuple[ReadSentence, ...]
    relevance: float
    left_out: str = ""
    needs_none: bool = False
    removed: tuple[tuple[int, int], ...] = ()

    @property
    def support(self) -> float:
        """0..1, support of the worst sentence; of a draft that states nothing 1 if it needs none, else 0."""
        stated = (each.support for each in self.sentences if each.support is not None)
        return min(stated, default=NEEDS_NONE if self.needs_none else UNPROVEN)

    @property
    def promises(self) -> bool:
        """Whether the judge reads a promise to this author."""
        return any(each.verdict is Verdict.PROMISE for each in self.sentences)

    @property
    def contested(self) -> bool:
        """Whether a sentence disagrees with the quotes that the judge names for it."""
        return any(each.disagreements for each in self.sentences)

    @property
    def unquoted(self) -> bool:
        """Whether a sentence that is called supported needs a quote that stands in the passages."""
        return any(
            each.verdict is Verdict.SUPPORTED and not (each.quotes or each.support) for each in self.sentences
        )


def checked_reading(request: ReadingRequest, reading: Reading) -> CheckedReading:
    """The reading with each verdict checked; a check never makes one better."""
    sentences = _all_checked(request, reading.sentences)
    draft = " ".join(request.sentences)
    pairs = list(zip(request.sentences, sentences, strict=True))
    unknown = [_is_unknown_courtesy(text, each, draft, request) for text, each in pairs]
    removed: tuple[tuple[int, int], ...] = ()
    if any(unknown) and any(each.support for each in sentences):
        removed = tuple(compress(request.spans, unknown))
        known = [not each for each in unknown]
        shorter = replace(
            request,
            sentences=tuple(compress(request.sentences, known)),
            spans=tuple(compress(request.spans, known)),
        )
        again = iter(_all_checked(shorter, tuple(compress(reading.sentences, known))))
        sentences = tuple(
            replace(each, support=None) if is_removed else next(again)
            for each, is_removed in zip(sentences, unknown, strict=True)
        )
    declines = request.question and any(each.verdict is Verdict.OFF_TOPIC for each in sentences)
    return CheckedReading(
        sentences=sentences,
        needs_none=all(each.support is None for each in sentences)
        and (bool(declines) or asks_back(request.sentences) or thanks_back(request)),
        relevance=(reading.relevance or 0.0) if request.question else ASKED_NOTHING,
        left_out=reading.left_out,
        removed=removed,
    )


def _all_checked(request: ReadingRequest, read: Sequence[SentenceReading]) -> tuple[ReadSentence, ...]:
    found = zip(request.sentences, request.spans, read, strict=True)
    return tuple(_checked(text, span, each, request) for text, span, each in found)


def _is_unknown_courtesy(text: str, read: ReadSentence, draft: str, request: ReadingRequest) -> bool:
    if read.verdict is not Verdict.NO_CLAIM or read.support is None:
        return False
    return may_be_removed(text, draft=draft, asked=request.asked)


@once
def _instructs(passage: tuple[str, str]) -> bool:
    """Whether a passage speaks to the reader of replies: its author is no source of facts."""
    return list_pattern("instructions").search(folded_text("\n".join(passage))) is not None


def _checked(
    text: str, span: tuple[int, int], read: SentenceReading, request: ReadingRequest
) -> ReadSentence:
    found = [located(_PASSAGE_MARK.sub("", quote), request.passages) for quote in read.quotes]
    if None in found and any(found):
        given = zip(found, read.quotes, strict=True)
        found = [each or _only_amount(quote, request.passages) for each, quote in given]
    standing = (quote for quote in found if quote is not None)
    quotes = tuple(
        dict.fromkeys(each for each in standing if not _instructs(request.passages[each.passage - 1]))
    )
    against: tuple[str, ...] = ()
    support: float | None = UNPROVEN
    if read.verdict is Verdict.SUPPORTED and quotes:
        noticed = disagreements(
            text,
            draft=" ".join(request.sentences),
            quoted="\n".join(dict.fromkeys(whole_clauses(quote, request.passages) for quote in quotes)),
            beside="\n".join(dict.fromkeys(whole_paragraph(quote, request.passages) for quote in quotes)),
            passages=request.evidence,
            question=request.question,
            asked=request.asked,
            written=request.written,
        )
        against = tuple(f"{each.kind}: {each.detail}"[:80] for each in noticed)
        if (other := other_subject(request, quotes)) is not None:
            against = (*against, f"{Fact.NAME}: {other}"[:80])
        support = UNPROVEN if against else read.probability
    elif read.verdict is Verdict.SUPPORTED and says_moment(text, request.written, request.evidence):
        support = read.probability
    elif read.verdict is Verdict.NO_CLAIM:
        draft = " ".join(request.sentences)
        nothing = states_nothing(text, draft=draft, asked=request.asked, passages=request.evidence)
        support = None if nothing else UNPROVEN
    elif read.verdict is Verdict.OFF_TOPIC:
        plain = has_no_figures(text, draft=" ".join(request.sentences), asked=request.asked)
        support = None if plain else UNPROVEN
    return ReadSentence(
        start=span[0],
        end=span[1],
        verdict=read.verdict,
        support=support,
        quotes=quotes,
        unknown_quotes=found.count(None),
        disagreements=against,
    )


_PASSAGE_MARK: Final = re.compile(r"^\s*(?:>\s*)?\[\d{1,4}\]\s*")
"""The number of a passage as the judge was shown it, before a quote."""
_CLAUSE_END: Final = re.compile(r"[,;:()\n–—。，；：！？、،؛؟]|[.!?](?=\s|$)")
_PARAGRAPH_END: Final = "\n\n"
LEAST_LETTERS: Final = 8
"""Letters and digits of a spaced script below which a quote could stand anywhere ("yes", "9 am")."""
MOST_SHORT_CHARS: Final = 40
"""Longest sentence, with signs and spaces around it, that a quote of fewer letters may be."""
LEAST_SIGNS: Final = 4
"""Least length in a script that writes a word in one or two signs."""
KEPT_SIGNS: Final = 8192
"""Signs whose folded form a process keeps: more than the texts of one account have."""


def located(quote: str, passages: Sequence[tuple[str, str]]) -> Quote | None:
    """The first place of a quote in passages given as (title, text); None for a quote that no passage has.

    A quote with an ellipsis is the longest of its pieces.
    """
    wanted = max((folded_signs(piece) for piece in quote.replace("...", "…").split("…")), key=len)
    if len(wanted) < (LEAST_LETTERS if wanted.isascii() else LEAST_SIGNS):
        return _whole_sentence(wanted, passages) if len(word_tokens(quote)) > 1 else None
    for number, (title, text) in enumerate(passages, start=1):
        if (at := folded_signs(text).find(wanted)) >= 0:
            start, *_, last = islice(_sign_places(text), at, at + len(wanted))
            return Quote(passage=number, start=start, end=last + 1)
        if wanted in folded_signs(title):
            return Quote(passage=number, start=None, end=None)
    return None


def _only_amount(quote: str, passages: Sequence[tuple[str, str]]) -> Quote | None:
    """The place of an amount ("95 euros") that stands in passages once; it may add to a longer quote."""
    if not (any(map(str.isdigit, quote)) and len(word_tokens(quote)) > 1):
        return None
    words = re.compile(rf"(?<!\w){re.escape(quote.strip())}(?!\w)")
    places = [(number, each) for number, (_, text) in enumerate(passages, 1) for each in words.finditer(text)]
    if len(places) != 1:
        return None
    number, place = places[0]
    return Quote(passage=number, start=place.start(), end=place.end())


def _whole_sentence(wanted: str, passages: Sequence[tuple[str, str]]) -> Quote | None:
    """The place of a short quote that is a whole sentence of a passage ("No cats.")."""
    for number, (_, text) in enumerate(passages, start=1):
        for start, end in sentence_spans(text):
            if end - start <= MOST_SHORT_CHARS and folded_signs(text[start:end]) == wanted:
                return Quote(passage=number, start=start, end=end)
    return None


def whole_clauses(quote: Quote, passages: Sequence[tuple[str, str]]) -> str:
    """The quote with the clauses that it begins and ends in: a judge may not cut off a "not"."""
    title, text = passages[quote.passage - 1]
    if quote.start is None or quote.end is None:
        return title
    before = [found.end() for found in _CLAUSE_END.finditer(text, 0, quote.start)]
    after = _CLAUSE_END.search(text, quote.end - 1)
    return text[before[-1] if before else 0 : after.end() if after else len(text)].strip()


def whole_paragraph(quote: Quote, passages: Sequence[tuple[str, str]]) -> str:
    """Title, and paragraph, list or table around the quote, which may give a number that the quote lacks."""
    title, text = passages[quote.passage - 1]
    if quote.start is None or quote.end is None:
        return title
    before, after = text.rfind(_PARAGRAPH_END, 0, quote.start), text.find(_PARAGRAPH_END, quote.end)
    return f"{title}\n{text[max(0, before) : after if after >= 0 else len(text)].strip()}"


@once
def folded_signs(text: str) -> str:
    """Letters and digits of a text in one form."""
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    return "".join(map(_folded_sign, text))


def _sign_places(text: str) -> Iterator[int]:
    """The place in a text of each of its folded signs."""
    if text.isascii():
        return compress(count(), map(str.isalnum, text))
    return (place for place, sign in enumerate(text) for _ in _folded_sign(sign))


@lru_cache(maxsize=KEPT_SIGNS)
def _folded_sign(sign: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", sign).casefold()))
