"""The values of the rule matcher: rules as written, hits and problems; all frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from worker.rules.conditions import AuthorCondition


class RuleKind(StrEnum):
    """The kind of a rule; ``flagged_<kind>:<rule>`` is its label in ``ai_decisions.matched_rule``."""

    KEYWORD = "keyword"
    PHRASE = "phrase"
    REGEX = "regex"
    AUTHOR = "author"


class Switch(StrEnum):
    """An option of one rule, written in braces, such as ``hora {exact_accents}``."""

    EXACT_ACCENTS = "exact_accents"
    NO_LEET = "no_leet"
    NO_SPACING = "no_spacing"
    CASE = "case"
    SUBSTRING = "substring"
    ALLOW = "allow"
    STARTS = "starts"
    ENDS = "ends"
    FULL = "full"
    FULL_EXACT = "full_exact"


class MatchMethod(StrEnum):
    """How a rule matched; a hit joins several methods with ``+`` in this order."""

    EXACT = "exact"
    CASE = "case"
    WIDTH = "width"
    ACCENT = "accent"
    VARIANT = "variant"
    HOMOGLYPH = "homoglyph"
    LEET = "leet"
    REPEAT = "repeat"
    INVISIBLE = "invisible"
    HIDDEN = "hidden"
    BROKEN = "broken"
    SEPARATED = "separated"
    GLUED = "glued"
    MASKED = "masked"
    TYPO = "typo"
    REGEX = "regex"


class ProblemLevel(StrEnum):
    """An error refuses the rule set, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, parsed.

    Attributes:
        written: as the account wrote it, switches included; the label of its hits.
        core: the letters to find, without switches, wildcards and edge punctuation.
        kind: keyword, phrase or regex; ``author`` for conditions without a text, whose ``core`` is empty.
        open_start: True when letters may precede the match (``*suf``, ``*any*``).
        open_end: True when letters may follow the match (``pre*``, ``*any*``).
        prefix: punctuation required directly before the match, such as ``#``.
        suffix: punctuation required directly after the match.
        fuzzy: True when one edit is allowed (``~word``).
        conditions: about the author, which must all hold.
    """

    written: str
    core: str
    kind: RuleKind
    switches: frozenset[Switch] = frozenset()
    open_start: bool = False
    open_end: bool = False
    prefix: str = ""
    suffix: str = ""
    fuzzy: bool = False
    conditions: tuple[AuthorCondition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One match of a rule.

    Attributes:
        rule: the rule as written.
        version: of the rule set that matched.
        start: first code point of the match in the original text.
        end: one past the last.
        text: ``original[start:end]``.
        how: members of ``MatchMethod`` joined with ``+``, such as ``leet+separated``.
    """

    rule: str
    kind: RuleKind
    version: int
    start: int
    end: int
    text: str
    how: str

    @property
    def label(self) -> str:
        """The name stored with a decision, such as ``flagged_keyword:spam``."""
        return f"flagged_{self.kind}:{self.rule}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProblem:
    """An error or a warning about one rule.

    Attributes:
        code: stable word, such as ``too_short``.
        message: one sentence that says what is wrong and how to correct it.
        share: 0..1, share of recent messages that the rule matches, for ``fires_often``; else None.
        number: the rule's index in the keywords, phrases and allowed texts in sequence, from 0; None for a
            problem of the whole set.
    """

    level: ProblemLevel
    rule: str
    code: str
    message: str
    share: float | None = None
    number: int | None = None
