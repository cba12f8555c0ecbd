"""Everything read from the database for one decision, before it is arranged for reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from db.decision_page import Conversation, Retraction, Row, Sealed, StoredPassage
from db.rules_then import RulesThen


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything read from the database for one decision.

    Attributes:
        covered: categories that the person wants covered.
        seals_opened: the person may read what is sealed.
        hidden: decisions of which the person must not see what others made.
        revealed: the person asked to see covered texts.
        blind: this is one of them, and stands here as ``without_reviews`` left it.
    """

    row: Row
    conversation: Conversation
    sealed: Sealed
    retractions: tuple[Retraction, ...]
    rules: RulesThen
    passages: Mapping[str, StoredPassage]
    covered: tuple[str, ...]
    seals_opened: bool
    hidden: frozenset[UUID] = frozenset()
    revealed: bool = False
    blind: bool = False


def without_reviews(story: Story) -> Story:
    """The story for a blind reading: the exchange stands where the decision left it."""
    row, sealed = story.row | {"reply_cancelled_at": None}, story.row["snapshot_json"].get("quarantined")
    kept = story.conversation.lines.get(row["id"], ())
    lines = tuple(replace(each, expires_at=None) for each in (*kept, *story.sealed.lines))
    lines = tuple(sorted(dict.fromkeys(lines), key=lambda line: line.role, reverse=True))
    return replace(
        story,
        row=row,
        retractions=(),
        blind=True,
        sealed=Sealed(count=0, expires_at=None, lines=lines if sealed and story.seals_opened else ()),
        conversation=replace(
            story.conversation, lines=story.conversation.lines | {row["id"]: () if sealed else lines}
        ),
    )
