"""The people that a comment mentions: ``@login`` in its text."""

from __future__ import annotations

import re
from typing import Final

MENTION: Final = re.compile(r"(?<![\w@.+-])@([\w][\w.+@-]*)")
MOST: Final = 20
"""Mentions of one comment that count."""
ENDS: Final = ".-@+"
"""Characters that may end a sentence rather than a login."""


def mentioned_logins(text: str) -> tuple[str, ...]:
    """The logins that a text may mention, lower case; with and without the punctuation after them."""
    found: dict[str, None] = {}
    for name in MENTION.findall(text)[:MOST]:
        login = name.lower()
        found |= {login: None, login.rstrip(ENDS): None}
    return tuple(found)
