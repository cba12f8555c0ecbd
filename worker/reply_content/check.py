"""The findings about a reply's content, each with its kind, in the order of their gravity."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from worker.displayed import carried_texts
from worker.displayed.carriers import INVISIBLE, joins
from worker.model import Finding, Severity, Span, Stage
from worker.reply_content import links, markup, private

CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
OVERRIDES: Final = re.compile("[\u202d\u202e]")
EMBEDDINGS: Final = re.compile("[\u202a-\u202c\u2066-\u2069]")
"""Copied phone numbers have them; they change the order of a text without right-to-left letters only."""
RUN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{8,}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
SOFT_HYPHEN: Final = "\u00ad"
MOST_SINGLE: Final = 8
"""Single zero-width characters that models copy from web pages; more may carry data."""


def without_invisible(text: str) -> tuple[str, int]:
    """The text without single invisible characters of no use to its script, and how many these were.

    A text that ``hidden_content`` holds is unchanged.
    """
    if text.isascii() or hidden_content(text) is not None:
        return text, 0
    keeps_direction = any(unicodedata.bidirectional(char) in {"R", "AL"} for char in text)
    kept = [
        char for at, char in enumerate(text) if not _is_removed(text, at, keeps_direction=keeps_direction)
    ]
    return "".join(kept), len(text) - len(kept)


def _is_removed(text: str, at: int, *, keeps_direction: bool) -> bool:
    char = text[at]
    if char.isascii() or unicodedata.category(char) != "Cf":
        return False
    if EMBEDDINGS.match(char):
        return not keeps_direction
    return INVISIBLE.match(char) is not None and not joins(text, at)


def hidden_content(text: str) -> str | None:
    """What is hidden in a text, for the evidence; None for single characters only."""
    if CONTROLS.search(text):
        return "control characters"
    if text.isascii():
        return None
    if OVERRIDES.search(text):
        return "characters that override the direction of writing"
    if carried_texts(text) or RUN.search(text):
        return "invisible characters that carry a text"
    places = (found.start() for found in INVISIBLE.finditer(text) if found[0] != SOFT_HYPHEN)
    single = sum(not joins(text, at) for at in places)
    return f"{single} invisible characters" if single > MOST_SINGLE else None


CODE: Final = "reply_content"
SHOWN_CHARS: Final = 80


class ContentKind(StrEnum):
    """What was found; second part of the matched rule, such as ``reply_content:link``."""

    INSTRUCTIONS = "instructions"
    SECRET = "secret"  # noqa: S105
    PERSONAL_DATA = "personal_data"
    MARKUP = "markup"
    IMAGE = "image"
    MENTION = "mention"
    HIDDEN_TEXT = "hidden_text"
    FORMULA = "formula"
    LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a reply may repeat.

    Attributes:
        linked: texts whose links it may have: the passages that it cites, and the account's instructions.
        shown: texts whose personal data it may have: all passages, instructions and the conversation; None:
            where its data comes from is not known.
        domains: to which it may link besides.
        instructions: our own, of which it may have no piece.
        marks: words that only the prompt has.
    """

    linked: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = ()
    domains: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    marks: tuple[str, ...] = field(default=())


def content_findings(text: str, sources: Sources) -> tuple[Finding, ...]:
    """What a reply must not have; empty for one that may leave. One finding of each kind, of links each."""
    return tuple(_found(text, kind, evidence, shown) for kind, evidence, shown in _all(text, sources))


def hidden_findings(text: str) -> tuple[Finding, ...]:
    """What a person who wrote the text does not see in it."""
    concealed = hidden_content(text)
    return (_found(text, ContentKind.HIDDEN_TEXT, f"Hidden text: {concealed}", ""),) if concealed else ()


def _all(text: str, sources: Sources) -> Iterator[tuple[ContentKind, str, str]]:
    """Kind, evidence and place of each finding."""
    if (piece := private.own_instructions(text, sources.instructions, sources.marks)) is not None:
        yield ContentKind.INSTRUCTIONS, f"Piece of the instructions: {piece!r}", piece
    if (key := private.secret(text, sources.shown or ())) is not None:
        yield ContentKind.SECRET, f"Key or password: {key[:4]}… ({len(key)} characters)", key
    for personal in () if sources.shown is None else private.foreign_data(text, sources.shown):
        yield ContentKind.PERSONAL_DATA, f"Personal data of unknown origin: {personal}", ""
    seen: set[ContentKind] = set()
    for reading in links.readings(text):
        for kind, name, find in (
            (ContentKind.MARKUP, "Tag", markup.raw_markup),
            (ContentKind.IMAGE, "Picture", markup.image),
            (ContentKind.MENTION, "Mention", markup.mention),
            (ContentKind.FORMULA, "Formula", markup.formula),
        ):
            if kind not in seen and (shown := find(reading)) is not None:
                seen.add(kind)
                yield kind, f"{name}: {shown[:SHOWN_CHARS]!r}", shown
    if concealed := hidden_content(text):
        yield ContentKind.HIDDEN_TEXT, f"Hidden text: {concealed}", ""
    for link in links.foreign_links(text, sources.linked, sources.domains):
        yield ContentKind.LINK, f"Link of unknown origin: {link.shown[:SHOWN_CHARS]!r}", link.shown


def _found(text: str, kind: ContentKind, evidence: str, shown: str) -> Finding:
    at = text.find(shown) if shown else -1
    return Finding(
        stage=Stage.RULES_REPLY,
        code=CODE,
        severity=Severity.BLOCK,
        matched_rule=f"{CODE}:{kind}",
        evidence=evidence[:300],
        span=Span(start=at, end=at + len(shown)) if at >= 0 else None,
    )
