"""Drafts and replies that were not sent: kept sealed, so that a person can use them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from worker.model.assessment import Assessment
from worker.model.passages import Passage, Source


class ReplyMode(StrEnum):
    """Whether an account's replies are sent at once or wait for a person."""

    AUTO = "auto"
    SUGGEST = "suggest"


class HeldKind(StrEnum):
    """What a held text is; stored.

    Attributes:
        REPLY: a reply that would have been sent, but for the account's mode or a takeover.
        DRAFT: a draft that was not trusted, or that came too late.
        RECHECK: the less trusted one of two drafts.
    """

    REPLY = "reply"
    DRAFT = "draft"
    RECHECK = "recheck"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDraft:
    """A text that was not sent.

    Attributes:
        text: as it would be sent, without citation marks.
        draft: as the model wrote it, with its citation marks; None for a text that no model wrote.
        sources: the passages that the draft cites.
        passages: the passages that the model was shown, in the order of the citation marks.
        assessment: None when it was not assessed.
    """

    kind: HeldKind
    text: str
    draft: str | None = None
    sources: tuple[Source, ...] = ()
    passages: tuple[Passage, ...] = ()
    assessment: Assessment | None = None
