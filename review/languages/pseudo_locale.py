"""A language for tests, made from English: accented, bracketed and 40 % longer.

Text without brackets was not marked for translation; text that is cut off has no room for other languages.
People do not get it in the list of languages; the cookie of ``review.languages.choice`` chooses it.
"""

from __future__ import annotations

import re
from gettext import NullTranslations
from typing import Final

PSEUDO: Final = "en-XA"
START, END = "⟦", "⟧"
LONGER: Final = 0.4
ACCENTS: Final = str.maketrans(
    "AaBbCcDdEeGgHhIiKkLlNnOoPpRrSsTtUuWwYyZz", "ÅåßƀÇçÐðÉéĜĝĤĥÎîĶķĻļÑñÖöÞþŔŕŠšŢţÛûŴŵÝýŽž"
)
KEPT: Final = re.compile(r"(<[^>]*>|&\w+;|%(?:\(\w+\))?[a-zA-Z%])")


class PseudoTranslations(NullTranslations):
    """Translates any English text."""

    def gettext(self, message: str) -> str:
        """The text in the pseudo-locale; a text of the pseudo-locale is returned unchanged."""
        return pseudo_text(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The form of the number."""
        return pseudo_text(msgid1 if n == 1 else msgid2)

    def pgettext(self, context: str, message: str) -> str:  # noqa: ARG002  # the same in every context
        """The text in the pseudo-locale."""
        return pseudo_text(message)


def pseudo_text(message: str) -> str:
    """An English text, accented, with its tags and placeholders unchanged, bracketed and longer."""
    if not message or START in message:
        return message
    parts = KEPT.split(message)
    accented = [part if place % 2 else part.translate(ACCENTS) for place, part in enumerate(parts)]
    letters = sum(len(part) for part in parts[::2])
    return START + "".join(accented) + " ·" * max(1, round(letters * LONGER / 2)) + END
