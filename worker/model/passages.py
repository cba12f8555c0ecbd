"""What a search finds, and what of it a reply cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model.stages import ModelCall


class FoundBy(StrEnum):
    """Which of the two searches found a passage."""

    WORDS = "words"
    VECTOR = "vector"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk retrieved for one event.

    Attributes:
        passage_id: ``<document id>#<chunk number>``.
        similarity: 0..1, higher is nearer: the cosine of query and chunk, 0 when negative; of a chunk
            without a vector the share of the query's words it holds. See ``docs/retrieval.md``.
        metadata: the document's own labels (subject, class, source ...).
        found_by: the search that found the passage.
        by_words: whether the similarity is a share of words, as no vector was compared.
        released: checks that flagged it at upload and that a person overruled.
        number: of a check's passage, as its program counts them from 1; 0: by its place.
    """

    passage_id: str
    title: str
    text: str
    similarity: float
    metadata: Mapping[str, str] = field(default_factory=dict)
    found_by: FoundBy = FoundBy.WORDS
    by_words: bool = False
    released: tuple[str, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenedPassage:
    """A passage that was found and not shown to the model.

    Attributes:
        text_hash: SHA-256 of title and text, the first 16 hex digits; documents may change.
        check: why, as ``flagged_keyword:spam`` or ``injection:override``.
        evidence: one sentence for a reviewer, at most 300 characters.
    """

    passage_id: str
    title: str
    text_hash: str
    check: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A passage that a reply cites.

    Attributes:
        number: from 1, as the draft's citation marks count; other numbers were not cited.
        passage_id: ``<document id>#<chunk number>``.
    """

    number: int
    passage_id: str
    title: str

    def shape(self) -> dict[str, int | str]:
        """The source in the form of the reply stream."""
        document_id = self.passage_id.partition("#")[0]
        return {
            "number": self.number,
            "document_id": document_id,
            "passage_id": self.passage_id,
            "title": self.title,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a search found.

    Attributes:
        passages: best first.
        degraded: why the search was incomplete, as the kind of the embedder's failure
            (``timeout``, ``rate_limited``, ``rejected`` ...); empty when it was complete.
        embedding: the call for the query's vector; None: no embedder was asked.
        nothing_stored: whether the account has no document at all.
    """

    passages: tuple[Passage, ...] = ()
    degraded: str = ""
    embedding: ModelCall | None = None
    nothing_stored: bool = False

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    def __len__(self) -> int:
        return len(self.passages)
