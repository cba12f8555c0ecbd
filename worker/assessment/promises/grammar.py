"""The grammar of promises in one language: regular expressions over folded text."""

from __future__ import annotations

from dataclasses import dataclass

NEVER = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseGrammar:
    """How a language promises an action or claims that it was done.

    Attributes:
        own: the speaker's own act for this author ("I have refunded you"); no document can say it.
        team: an act of the company or its people ("a colleague will call you"); a document may say the same
            as a rule for everyone, and then it is a quotation.
        not_promised: phrases inside which neither counts: a denial, an offer, another subject.
        spaced: whether the language writes spaces between words.
    """

    own: tuple[str, ...]
    team: tuple[str, ...]
    not_promised: str = NEVER
    spaced: bool = True
