"""The grammar of non-answers in one language: regular expressions over folded text."""

from __future__ import annotations

from dataclasses import dataclass

NEVER = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """How a language says "I do not know", and how its clauses are split.

    Attributes:
        admissions: the admission, from subject to verb; the rest of the clause names what is unknown.
        filler: words before an admission or in a clause of their own: regrets, adverbs.
        sources: a clause that names the sources or the subject.
        contrasts: words that begin a new clause.
        dependent: beginning of a clause that completes the admission before it, after a comma.
        condition: beginning of a clause that completes the admission after it: "if it is late".
        spaced: whether the language writes spaces between words.
    """

    admissions: tuple[str, ...]
    filler: str
    sources: str
    contrasts: str
    dependent: str = NEVER
    condition: str = NEVER
    spaced: bool = True
