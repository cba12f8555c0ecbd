"""What is known of an author when a message is judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The author of a message in its account; None for what is not known.

    Attributes:
        strikes: messages that rules or moderation flagged for their text within the last 30 days.
        messages_1h: events decided within the last hour, at most 1,000.
        role: as the publisher names it, such as ``moderator``.
        account_age_days: age of the author's login at the channel.
    """

    strikes: int | None = None
    messages_1h: int | None = None
    role: str | None = None
    account_age_days: float | None = None


UNKNOWN_AUTHOR = Author()
"""No condition about an author holds."""
