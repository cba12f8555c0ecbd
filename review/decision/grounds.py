"""What a draft rests on: the passages it cites, with the sentence in each that its own sentences repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from markupsafe import Markup

from db.answers.held import HeldText
from db.audit.decision_context import StoredPassage
from review.decision.highlights import cited_html
from review.marked_text import TextRange
from worker.assessment.text.citations import cited_numbers, sentences_with_citations, without_citations
from worker.assessment.text.words import STOP, content_units, sentence_spans
from worker.snapshot import Snapshot, SnapshotPassage

Place: TypeAlias = "tuple[TextRange, frozenset[str]]"
"""A sentence of a passage and its words."""
SMALLEST_SHARE: Final = 0.25
"""Least share of a sentence's words that a passage's sentence must repeat to be marked."""
MOST_COMPARISONS: Final = 1_000_000
"""Pairs of sentences that a page compares, in 0.2 s; a check may bring 100 passages of 20,000 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """A passage in the order the model was given it; ``text`` is None when it is no longer stored.

    Attributes:
        sha256: of the text, where a copy was kept with a draft.
    """

    number: int
    passage_id: str
    title: str
    text: str | None
    document_id: int | None = None
    source: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One passage beside the draft.

    Attributes:
        html: the passage with the judge's quotes marked, or, without a reading, the sentences that the draft
            repeats; None when it is no longer stored.
        cited: the draft names its number, or, in a draft without citations, repeats it; or a judge quotes it.
        matched: a sentence is marked.
        title: with the judge's quotes marked; None: as stored.
    """

    passage: ShownPassage
    html: Markup | None
    cited: bool
    matched: bool
    title: Markup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyGrounds:
    """The passages of one draft.

    Attributes:
        verbatim: the texts are copies that were kept with the draft.
        numbered: the draft has citation numbers.
        read: the marks are the quotes of a judge.
    """

    cited: tuple[Ground, ...]
    others: tuple[Ground, ...]
    verbatim: bool
    numbered: bool
    read: bool = False


def passages_of(snapshot: Snapshot, stored: Mapping[str, StoredPassage]) -> tuple[ShownPassage, ...]:
    """The passages of a decision with the texts that are still stored; a stored passage never changes."""
    return tuple(_stored(number, each, stored) for number, each in enumerate(snapshot.passages, 1))


def passages_of_held(held: HeldText, stored: Mapping[str, StoredPassage]) -> tuple[ShownPassage, ...]:
    """The passages that were kept with a draft."""
    return tuple(
        ShownPassage(
            number=number,
            passage_id=each["id"],
            title=each["title"],
            text=each["text"],
            sha256=each["sha256"],
            document_id=stored[each["id"]].document_id if each["id"] in stored else None,
            source=stored[each["id"]].source if each["id"] in stored else "",
        )
        for number, each in enumerate(held.passages, 1)
    )


def grounds_of(draft: str, passages: Sequence[ShownPassage], *, verbatim: bool) -> ReplyGrounds:
    """The passages of a draft; in one without citations, those that its sentences repeat count as cited."""
    sentences = [(each, _units(without_citations(each))) for each in sentences_with_citations(draft)]
    named = {number for each, _ in sentences for number in cited_numbers(each)}
    numbered = any(each.number in named for each in passages)
    found = []
    left = MOST_COMPARISONS
    for passage in passages:
        citing = [said for each, said in sentences if not numbered or passage.number in cited_numbers(each)]
        places = _places(passage.text or "") if citing and left else []
        compared = citing[: left // max(1, len(places))]
        left -= len(compared) * len(places)
        spans = _repeated(passage.text or "", compared, places)
        cited = passage.number in named if numbered else bool(spans)
        html = None if passage.text is None else cited_html(passage.text, spans)
        found.append(Ground(passage=passage, html=html, cited=cited, matched=bool(spans)))
    return ReplyGrounds(
        cited=tuple(each for each in found if each.cited),
        others=tuple(each for each in found if not each.cited),
        verbatim=verbatim,
        numbered=numbered,
    )


def _places(text: str) -> list[Place]:
    return [(span, _units(text[slice(*span)])) for span in sentence_spans(text)]


def _repeated(text: str, said: Sequence[frozenset[str]], places: Sequence[Place]) -> tuple[TextRange, ...]:
    """The sentence of a passage that repeats most words of each of the draft's sentences."""
    found = set()
    for units in said:
        best = max(places, key=lambda place: len(units & place[1]), default=None)
        if best and units and len(units & best[1]) >= SMALLEST_SHARE * len(units):
            found.add(_trimmed(text, best[0]))
    return tuple(sorted(found))


def _stored(number: int, each: SnapshotPassage, stored: Mapping[str, StoredPassage]) -> ShownPassage:
    kept = stored.get(each.passage_id)
    return ShownPassage(
        number=number,
        passage_id=each.passage_id,
        title=each.title,
        text=kept.text if kept else None,
        document_id=kept.document_id if kept else None,
        source=kept.source if kept else "",
    )


def _units(text: str) -> frozenset[str]:
    return frozenset(content_units(text)) - STOP


def _trimmed(text: str, span: TextRange) -> TextRange:
    start, end = span
    return start, start + len(text[start:end].rstrip())
