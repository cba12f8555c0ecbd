"""What a person answered to a decision, as lists, pages, exports and figures show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from db.columns import Timestamp
from db.rows import from_row

answered_decisions: Final = sa.table(
    "answered_decisions",
    sa.column("answer_id", sa.Uuid),
    sa.column("decision_id", sa.Uuid),
    sa.column("decision_at", Timestamp),
    sa.column("user_id", sa.Text),
    sa.column("state", sa.Text),
    sa.column("text", sa.Text),
    sa.column("person", sa.Text),
    sa.column("answered_at", Timestamp),
)
"""The view of ``db/sql/answered_decisions.sql``, which defines the state."""
SELECTED: Final = (
    answered_decisions.c.state.label("answered"),
    answered_decisions.c.person.label("answered_by"),
    answered_decisions.c.answered_at.label("answered_at"),
    answered_decisions.c.text.label("answer_text"),
)
"""The fields of ``PersonAnswer`` in a query that joins the view; all NULL while no answer stands."""


class AnswerState(StrEnum):
    """What a person did with a message that the AI left without an answer; the state of the view.

    Attributes:
        APPROVED: the AI's text was sent as it was.
        EDITED: the AI's text was sent with changes.
        WRITTEN: the person's own text was sent.
        DISMISSED: the person closed the message without an answer.
    """

    APPROVED = "approved"
    EDITED = "edited"
    WRITTEN = "written"
    DISMISSED = "dismissed"


SENT: Final = (AnswerState.APPROVED, AnswerState.EDITED, AnswerState.WRITTEN)
"""States with a text: answered by a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """The standing answer of a person to a decision, as lists, files and programs have it.

    Attributes:
        answered: the state.
        answered_by: login at that time.
        answer_text: as sent; None when it was dismissed.
    """

    answered: AnswerState
    answered_by: str
    answered_at: datetime
    answer_text: str | None


FIELDS: Final = tuple(each.name for each in fields(PersonAnswer))
UNANSWERED: Final[Mapping[str, None]] = dict.fromkeys(FIELDS)
"""The fields of a decision without an answer."""


def answer_of(row: Mapping[str, Any]) -> PersonAnswer | None:
    """The answer in a row with ``SELECTED``; None without one."""
    return None if row["answered"] is None else from_row(PersonAnswer, row)
