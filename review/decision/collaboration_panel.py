"""What people write and do around one decision: who has it, and the comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from db.collaboration import assignments, colleagues, comments
from db.collaboration.assignments import Assignment
from db.collaboration.colleagues import Colleague
from db.collaboration.comments import COMMENT_CHARS, Comment
from db.connection import Connection
from db.people.records import Role
from review.access import RIGHTS, Right
from review.http.visit import Visit

READERS: Final = tuple(role for role in Role if Right.VIEW in RIGHTS[role])
REVIEWERS: Final = tuple(role for role in Role if Right.REVIEW in RIGHTS[role])


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationPanel:
    """What the partials of ``collaboration/`` show beside a decision.

    Attributes:
        decision_id: of the page.
        assignment: None when it was never assigned.
        comments: oldest first; empty while ``hidden``.
        unread: a comment here mentions the person, who has not read it.
        readers: whom a comment may mention; ``reviewers``: who may be assigned.
        hidden: the person holds the decision in a queue: what others wrote would not be independent.
    """

    decision_id: UUID
    assignment: Assignment | None
    comments: tuple[Comment, ...]
    unread: bool
    readers: tuple[Colleague, ...]
    reviewers: tuple[Colleague, ...]
    hidden: bool
    may_assign: bool
    person_id: UUID
    comment_chars: int = COMMENT_CHARS

    @property
    def mine(self) -> bool:
        """Whether the decision waits for the person."""
        found = self.assignment
        return found is not None and found.person_id == self.person_id and found.done_at is None


async def load_collaboration(
    visit: Visit, connection: Connection, decision_id: UUID, user_id: str, *, hidden: bool
) -> CollaborationPanel:
    """The panel of a decision that the person may see."""
    person_id = visit.person.person_id
    may_assign = visit.may(Right.REVIEW, user_id) and not hidden
    suggested = colleagues.suggested_colleagues
    return CollaborationPanel(
        decision_id=decision_id,
        assignment=None if hidden else await assignments.load_assignment(connection, decision_id),
        comments=() if hidden else await comments.list_comments(connection, decision_id),
        unread=bool(visit.person.unread)
        and await comments.has_unread(connection, person_id, decision_id)
        and not hidden,
        readers=() if hidden else await suggested(connection, user_id, READERS),
        reviewers=await suggested(connection, user_id, REVIEWERS) if may_assign else (),
        hidden=hidden,
        may_assign=may_assign,
        person_id=person_id,
    )
