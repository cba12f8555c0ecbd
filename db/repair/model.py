"""The kinds of breaches, and what was found of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Breach(StrEnum):
    """A kind of breach; a name of ``hushgate repair --fix``, and stored in the access log: never renamed."""

    ENTRY_IN_NO_LANE = "entry-in-no-lane"
    ENTRY_MISSING = "entry-missing"
    LANE_NOT_QUEUED = "lane-not-queued"
    LANE_OF_LOST_WORKER = "lane-of-lost-worker"
    EVENT_DECIDED_TWICE = "event-decided-twice"
    REPLY_SENT_UNMARKED = "reply-sent-unmarked"
    REPLY_NOT_ON_STREAM = "reply-not-on-stream"
    OUTGOING_NOT_ON_STREAM = "outgoing-not-on-stream"
    SENT_TWICE = "sent-twice"
    RETRY_LOST = "retry-lost"
    ENTRIES_UNCOUNTED = "entries-uncounted"
    ENDINGS_MISSING = "endings-missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBreach:
    """One breach.

    Attributes:
        subject: what the breach is about: an entry, a lane, a decision, a row; unique within its kind.
        found: what is wrong, as a sentence without user text.
        account: None where nothing names one.
    """

    breach: Breach
    subject: str
    found: str
    account: str | None = None
