"""Citations ``[n]`` in a draft: the passages they name and the sentences without one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from worker.assessment.text.words import sentence_spans
from worker.model import Passage

_CITATION = re.compile(r"[\[【](\d{1,4}(?:\s*[,，;]\s*\d{1,4})*)[\]】]")
_CITATIONS_FIRST = re.compile(rf"(?:\s*{_CITATION.pattern})+\s*")
_NUMBER = re.compile(r"\d+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """The citations of one draft, checked against its passages.

    Attributes:
        cited: numbers of the passages named, sorted.
        invalid: numbers that name no passage, sorted.
        sentences: number of sentences with a letter or digit.
        uncited: the sentences without a valid citation.
        unmarked: the sentences without any citation, valid or not.
    """

    cited: tuple[int, ...]
    invalid: tuple[int, ...]
    sentences: int
    uncited: tuple[str, ...]
    unmarked: tuple[str, ...]

    @property
    def coverage(self) -> float:
        """0..1, share of sentences with a valid citation; 1 without sentences."""
        return 1.0 if not self.sentences else 1.0 - len(self.uncited) / self.sentences

    @property
    def marked(self) -> float:
        """0..1, share of sentences with a citation, valid or not; 1 without sentences."""
        return 1.0 if not self.sentences else 1.0 - len(self.unmarked) / self.sentences


def cited_numbers(text: str) -> tuple[int, ...]:
    """Every passage number a text cites, in order, repeats included."""
    if "[" not in text and "【" not in text:
        return ()
    return tuple(
        int(number) for match in _CITATION.finditer(text) for number in _NUMBER.findall(match.group(1))
    )


def without_citations(text: str) -> str:
    """The text with each citation replaced by a space."""
    return _CITATION.sub(" ", text) if "[" in text or "【" in text else text


def states_something(text: str) -> bool:
    """Whether a letter or digit remains without the citations."""
    return _LETTER_OR_DIGIT.search(without_citations(text)) is not None


def has_citations_only(text: str) -> bool:
    """Whether a text is only citations and punctuation; a symbol or an emoji is neither."""
    rest = without_citations(text)
    return rest != text and not any(unicodedata.category(sign).startswith("S") for sign in rest)


def invalid_citations(draft: str, passages: Sequence[Passage]) -> set[int]:
    """The numbers that a draft cites and that are neither passages nor quoted from their texts."""
    others = set(cited_numbers(draft)).difference(range(1, len(passages) + 1))
    return others.difference(*(cited_numbers(each.text) for each in passages)) if others else others


def citation_check(draft: str, passages: Sequence[Passage]) -> CitationCheck:
    """The citations of ``draft`` checked against ``passages``, sentence by sentence.

    A bracketed number that also occurs in the evidence is a quotation, not a citation.
    """
    cited = set(cited_numbers(draft))
    valid = cited.intersection(range(1, len(passages) + 1))
    invalid = invalid_citations(draft, passages)
    parts = sentences_with_citations(draft)
    return CitationCheck(
        cited=tuple(sorted(cited)),
        invalid=tuple(sorted(invalid)),
        sentences=len(parts),
        uncited=tuple(part for part in parts if valid.isdisjoint(cited_numbers(part))),
        unmarked=tuple(part for part in parts if (valid | invalid).isdisjoint(cited_numbers(part))),
    )


def without_sentences(draft: str, spans: Sequence[tuple[int, int]]) -> str:
    """The draft without the sentences at these places; citations before one belong to the sentence before."""
    pieces, at = [], 0
    for start, end in spans:
        lead = _CITATIONS_FIRST.match(draft, start, end)
        pieces.append(draft[at : lead.end() if lead else start])
        at = end
    return "".join((*pieces, draft[at:])).strip()


def sentences_with_citations(draft: str) -> list[str]:
    """Sentences with a letter or digit; a citation after the full stop belongs to the ended sentence."""
    parts: list[str] = []
    for start, end in sentence_spans(draft):
        part = draft[start:end].strip()
        lead = _CITATION.match(part)
        if lead is not None and parts:
            parts[-1] += " " + lead.group()
            part = part[lead.end() :].strip()
            while (lead := _CITATION.match(part)) is not None:
                parts[-1] += " " + lead.group()
                part = part[lead.end() :].strip()
        if states_something(part):
            parts.append(part)
    return parts
