"""The signs of an instruction in a text, and their sum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import re2

from worker.injections.hidden_text import ReadableText, readable_text

FLAGGED_FROM: Final = 1.0
HIDDEN: Final = "hidden_text"
OVERRIDE: Final = "override"
OWN: Final = re.compile(
    r"\b(?:my|our|meine[nr]?|unsere[nr]?|mis|nuestras|mes|nos|mie|miei|nostre|minhas|nossas|mijn)\b"
)
OTHERS: Final = re.compile(
    r"\b(?:all|any|your|system|alle[nr]?|deine[nr]?|ihre[nr]?|todas|tus|sus|toutes|tes|vos|tutte)\b"
)
"""Words of orders that the author gave, and of those that others gave."""
MENTION_SHARE: Final = 0.3
"""What is left of a sign's weight when it is quoted as an example."""
MENTION_CHARS: Final = 160
MENTION: Final = re.compile(
    r"such as|e\.g\.|example|for instance|phrase|sentence|injection|attack|jailbreak|malicious|hostile"
    r"|beispiel|angriff|angreifer|ví dụ|tấn công|例如|比如|攻击|注入|por ejemplo|ataque|atacante|par exemple"
    r"|attaque|inyección"
)
"""Words of a text that is about such instructions."""
OPENING: Final = "\"'`(「『“"
CLOSING: Final = "\"'`)」』”"
CACHED: Final = 2048
"""Passages whose result is kept: 3 to 10 MB. A document's chunks are found again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A pattern that matched, with its weight in this place."""

    kind: str
    weight: float
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Why a passage counts as an instruction to the model.

    Attributes:
        score: 1.0 or more, the sum of the highest weights of all kinds.
        kinds: highest weight first.
        evidence: one sentence for a reviewer, at most 300 characters; quotes the passage.
    """

    score: float
    kinds: tuple[str, ...]
    evidence: str


@lru_cache(maxsize=CACHED)
def find_injection(text: str) -> Injection | None:
    """Why a passage must not be shown to the model, or None."""
    return _injection(_signs(readable_text(text)))


def injection_in(text: str) -> Injection | None:
    """Why a message counts as an instruction to the model, or None; messages hardly ever recur.

    An author may take back what the author asked for before.
    """
    return _injection(sign for sign in _signs(readable_text(text)) if not _takes_back(sign))


def _takes_back(sign: Sign) -> bool:
    own = sign.kind == OVERRIDE and OWN.search(sign.shown) is not None
    return own and OTHERS.search(sign.shown) is None


def _injection(signs: Iterable[Sign]) -> Injection | None:
    best: dict[str, Sign] = {}
    for sign in signs:
        if sign.kind not in best or sign.weight > best[sign.kind].weight:
            best[sign.kind] = sign
    score = sum(sign.weight for sign in best.values())
    if round(score, 6) < FLAGGED_FROM:
        return None
    worst = sorted(best.values(), key=lambda sign: -sign.weight)
    quoted = "; ".join(f"{sign.kind.replace('_', ' ')}: {sign.shown!r}" for sign in worst)
    return Injection(
        score=round(score, 2),
        kinds=tuple(sign.kind for sign in worst),
        evidence=f"Instruction to the model ({quoted}"[:298] + ")",
    )


def _signs(readable: ReadableText) -> Iterator[Sign]:
    if readable.carries_data:
        yield Sign(kind=HIDDEN, weight=FLAGGED_FROM, shown="a run of invisible characters")
    for text in (readable.text, *readable.disguised):
        yield from _pattern_signs(text)
    for decoded in readable.decoded:
        for sign in _pattern_signs(decoded):
            yield sign
            yield Sign(kind=HIDDEN, weight=FLAGGED_FROM, shown=sign.shown)


def _pattern_signs(text: str) -> Iterator[Sign]:
    patterns = _patterns()
    for number in patterns.all_in_one.Match(text, True) or ():
        kind, weight, pattern = patterns.single[number]
        for match in pattern.finditer(text):
            quoted = _is_quoted_example(text, match.start(), match.end())
            shown = " ".join(text[match.start() : match.end()].split())[:80]
            yield Sign(kind=kind, weight=weight * (MENTION_SHARE if quoted else 1.0), shown=shown)


def _is_quoted_example(text: str, start: int, end: int) -> bool:
    """Whether the match is inside quotation marks and the words before it speak of examples or attacks."""
    before = text[max(0, start - MENTION_CHARS) : start]
    opened = max(before.rfind(mark) for mark in OPENING)
    if opened < 0 or "\n" in before[opened:]:
        return False
    closing = CLOSING[OPENING.index(before[opened])]
    is_inside = closing not in before[opened + 1 :] and closing in text[end : end + MENTION_CHARS]
    return is_inside and MENTION.search(before[:opened]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    """All patterns as one automaton, and each of them alone."""

    all_in_one: re2.Filter
    single: tuple[tuple[str, float, re2._Regexp], ...]


@cache
def _patterns() -> _Patterns:
    fragments: dict[str, str] = {}
    single = []
    all_in_one = re2.Filter()
    text = files("worker.injections").joinpath("data/patterns.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("@"):
            name, pattern = line[1:].split("\t")
            fragments[name] = _expanded(pattern, fragments)
        elif line and not line.startswith("#"):
            kind, weight, _, pattern = line.split("\t")
            whole = _expanded(pattern, fragments)
            all_in_one.Add(whole)
            single.append((kind, float(weight), re2.compile(whole)))
    all_in_one.Compile()
    return _Patterns(all_in_one=all_in_one, single=tuple(single))


def _expanded(pattern: str, fragments: dict[str, str]) -> str:
    for name, fragment in fragments.items():
        pattern = pattern.replace(f"{{{name}}}", fragment)
    return pattern
