"""The bodies of changes by the JSON API, and of their answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import ConfigDict, Field

from db.reviews.rulings import NOTE_CHARS, RULINGS, Remedy, RulingReason
from review.accounts.documents_page import PASTED
from review.typed.kinds import STORABLE, Filled, Line, Number, OneOf, Storable
from worker.model import DecisionKind

STRICT: ConfigDict = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReview:
    """A review; ``seen`` is the newest review that you know of the decision, null for none.

    ``reason`` and ``corrected`` (the right decision) are required with the ruling ``overturn``; ``corrected``
    goes with it only and may be left out where the reason implies it, as SHOULD_ANSWER implies respond.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    ruling: Annotated[str, OneOf(RULINGS)]
    reason: Annotated[str, OneOf(("", *RulingReason))] = ""
    note: Annotated[str, Field(pattern=STORABLE, max_length=NOTE_CHARS)] = ""
    corrected: Annotated[str, OneOf(("", *DecisionKind))] = ""
    remedy: Annotated[str, OneOf(("", *Remedy))] = ""
    seen: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAnswer:
    """A stored review; it can be undone until ``undo_until``."""

    review_id: UUID
    decision_id: UUID
    ruling: str
    effect: str
    undo_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAnswer:
    """A review that was withdrawn, with its effect."""

    review_id: UUID
    decision_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesInForce:
    """The rules of an account in force; ``version`` 0 for an account without settings."""

    user_id: str
    version: int
    changed_by: str
    changed_at: datetime | None
    flagged_keywords: tuple[str, ...]
    flagged_phrases: tuple[str, ...]
    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRules:
    """A new version of the rules, made from ``version``; a list that is null stays as it is."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    version: Number
    flagged_keywords: tuple[Line, ...] | None = None
    flagged_phrases: tuple[Line, ...] | None = None
    allowed: tuple[Line, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesAnswer:
    """The version in force now; ``changed`` is false when the rules were the same already."""

    version: int
    changed: bool
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    """A document as text; ``format`` is markdown, html, text or csv."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    text: Filled
    title: Storable = ""
    format: Annotated[str, OneOf(tuple(PASTED))] = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAnswer:
    """What was done with a document; ``flagged`` passages are held back until a person releases them.

    ``chunks`` is null for an unchanged document, which is not read again. ``warnings`` say what to compare
    with the document, ``left_out`` what was read and is no knowledge.
    """

    document_id: int
    outcome: str
    chunks: int | None
    flagged: int
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLine:
    """A stored document."""

    document_id: int
    title: str
    source: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The documents of an account, oldest first."""

    documents: tuple[DocumentLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocument:
    """A document that was removed with all its passages."""

    document_id: int
