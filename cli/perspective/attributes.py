"""The attributes of Perspective API and the moderation categories that come nearest."""

from __future__ import annotations

from typing import Final

RUDE: Final = ("harassment", "harassment/threatening", "hate", "hate/threatening")
CATEGORIES: Final = {
    "TOXICITY": RUDE,
    "SEVERE_TOXICITY": RUDE,
    "IDENTITY_ATTACK": ("hate", "hate/threatening"),
    "INSULT": ("harassment", "harassment/threatening"),
    "PROFANITY": (),
    "THREAT": ("harassment/threatening", "hate/threatening", "violence"),
    "SEXUALLY_EXPLICIT": ("sexual", "sexual/minors"),
    "ATTACK_ON_AUTHOR": ("harassment", "harassment/threatening"),
    "ATTACK_ON_COMMENTER": ("harassment", "harassment/threatening"),
}
"""Categories of the moderation API by attribute; an attribute without any is compared with rules."""


def categories_of(attribute: str) -> tuple[str, ...]:
    """The categories of an attribute, also of its experimental form; none for others, such as SPAM."""
    return CATEGORIES.get(attribute.removesuffix("_EXPERIMENTAL"), ())
