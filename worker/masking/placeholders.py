"""Placeholders such as ``[EMAIL_1]``: issued while a text is masked, replaced when they come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from worker.masking.detection import personal_spans
from worker.masking.kinds import PersonalKind

LITERAL: Final = "TEXT"
"""The word of placeholders for texts that look like a placeholder."""
WORDS: Final = "|".join((*(kind.upper() for kind in PersonalKind), LITERAL))
WORD: Final = re.compile(WORDS, re.IGNORECASE)
NUMBER: Final = re.compile(r"\d+")
LOOKALIKE: Final = re.compile(
    rf"[\[［【]\s?(?i:{WORDS})\\?[ _-]\d{{1,6}}\s?[\]］】]"
    rf"|\\\[(?i:{WORDS})\\?_\d{{1,6}}\\\]"
    rf"|\[(?:{WORDS})\]"
    rf"|(?i:{WORDS})\\?_\d{{1,6}}"
)
"""A placeholder, and what a model makes of one: other case or brackets, none, escaped, without number.
No part looks at what is beside it: the neighbours of a placeholder change while a text is masked."""

INSTRUCTION: Final = (
    "Words in square brackets such as [EMAIL_1] or [PHONE_2] stand for data that is hidden from you. Where"
    " the answer needs such data, copy the placeholder exactly; never change one and never invent one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A text with the original data.

    Attributes:
        unknown: placeholders that were not issued, or are damaged, as they stand in the text.
    """

    text: str
    unknown: tuple[str, ...] = ()


class Masker:
    """Masks and restores the texts of one event; equal data has equal placeholders in all of them.

    Args:
        enabled: False: every text stays as it is.
        countries: ISO 3166 codes whose national phone formats count.
    """

    def __init__(self, *, enabled: bool, countries: Sequence[str] = ()) -> None:
        self.enabled = enabled
        self._countries = tuple(countries)
        self._values: dict[str, str] = {}
        self._placeholders: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many different values were masked, by kind."""
        if not self._placeholders:
            return {}
        words = Counter(word for word, _ in self._placeholders)
        return {kind.value: words[kind.upper()] for kind in PersonalKind if words[kind.upper()]}

    def mask(self, text: str) -> str:
        """The text with placeholders for its personal data; issued ones stay, so masking is idempotent.

        A text that merely looks like a placeholder is masked too, so that ``restore`` returns it unchanged.
        """
        if not self.enabled:
            return text
        pieces, at = [], 0
        lookalikes = list(LOOKALIKE.finditer(text))
        seen = {match[0] for match in lookalikes} - self._values.keys()
        for match in lookalikes:
            pieces += [self._masked(text[at : match.start()], seen), match[0]]
            if match[0] in seen:
                pieces[-1] = self._placeholder(LITERAL, match[0], seen)
            at = match.end()
        return "".join((*pieces, self._masked(text[at:], seen)))

    def restore(self, text: str) -> Restored:
        """The text with the original data; placeholders that a model wrote a little differently count too."""
        if not self.enabled:
            return Restored(text=text)
        unknown: dict[str, None] = {}

        def original(match: re.Match[str]) -> str:
            value = self._values.get(_canonical(match[0]))
            if value is None:
                unknown[match[0]] = None
            return match[0] if value is None else value

        restored = LOOKALIKE.sub(original, text)
        return Restored(text=restored, unknown=tuple(unknown))

    def _masked(self, text: str, seen: set[str]) -> str:
        """A stretch without placeholders; the rest is searched again, as its ends have changed."""
        spans = personal_spans(text, self._countries)
        if not spans:
            return text
        pieces, at = [], 0
        for span in spans:
            value = text[span.start : span.end]
            pieces += [
                self._masked(text[at : span.start], seen),
                self._placeholder(span.kind.upper(), value, seen),
            ]
            at = span.end
        return "".join((*pieces, self._masked(text[at:], seen)))

    def _placeholder(self, word: str, value: str, seen: set[str]) -> str:
        """The placeholder of this value. New placeholders never occur in the original text."""
        known = self._placeholders.get((word, value))
        while known is None:
            self._numbers[word] += 1
            name = f"[{word}_{self._numbers[word]}]"
            if name not in seen:
                known = self._placeholders[word, value] = name
                self._values[name] = value
        return known


def _canonical(lookalike: str) -> str:
    """A placeholder in its issued form: ``[EMAIL_1]`` for ``[email 1]``."""
    word, number = WORD.search(lookalike), NUMBER.search(lookalike)
    return f"[{word[0].upper()}_{int(number[0])}]" if word and number else lookalike
