"""What a judge read in a draft, after code has checked it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the passages say of one sentence; stored."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_MENTIONED = "not_mentioned"
    NO_CLAIM = "no_claim"
    PROMISE = "promise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A piece of a passage on which a sentence rests.

    Attributes:
        passage: citation number of the passage, from 1.
        start: place in the passage's text, in characters; None where it stands in the title.
        end: place after its last character; None likewise.
    """

    passage: int
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSentence:
    """One sentence of a draft, read by a judge and checked by code.

    Attributes:
        start: place in the draft, in characters.
        end: place after its last character.
        support: 0..1, probability that the passages support it; None for one that states nothing.
        quotes: the judge's quotes that stand in the passages.
        unknown_quotes: how many of its quotes do not.
        disagreements: facts of the sentence that the quotes do not bear out, as ``number: 18:15``.
    """

    start: int
    end: int
    verdict: Verdict
    support: float | None
    quotes: tuple[Quote, ...] = ()
    unknown_quotes: int = 0
    disagreements: tuple[str, ...] = ()
