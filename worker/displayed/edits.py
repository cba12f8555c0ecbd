"""Replacements in a text that keep, for each character, its place in the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A replacement of ``text[start:end]``.

    Attributes:
        text: what people see, or could read, instead.
        places: for each of its characters an index of the edited text.
    """

    start: int
    end: int
    text: str = ""
    places: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """A text as shown; ``places`` has for each character the index in the original."""

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original span from the first to the last character of a span of this text."""
        found = self.places[start:end]
        return min(found), max(found) + 1


def edited(
    before: ShownText | None, original: str, edits: Callable[[str], Sequence[Edit]]
) -> ShownText | None:
    """The text after these edits, which are in order and do not overlap; ``before`` when there are none."""
    text = original if before is None else before.text
    found = edits(text)
    if not found:
        return before
    known: Sequence[int] = range(len(text)) if before is None else before.places
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    for edit in found:
        pieces += [text[at : edit.start], edit.text]
        places += known[at : edit.start]
        places += [known[place] for place in edit.places]
        at = edit.end
    pieces.append(text[at:])
    places += known[at:]
    return ShownText(text="".join(pieces), places=places)
