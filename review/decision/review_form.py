"""The review form: its fields, and parsing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from db.reviews.rulings import RULINGS, Remedy, Reviewer, ReviewRejected, Ruling, RulingReason
from db.reviews.submission import Submission
from review.http.visit import Visit
from review.languages import gettext as _
from worker.model import DecisionKind

Code = TypeVar("Code", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFields:
    """The fields of the review form as text; empty when not chosen."""

    ruling: str = ""
    reason: str = ""
    note: str = ""
    corrected: str = ""
    remedy: str = Remedy.NONE


def reviewer_of(visit: Visit) -> Reviewer:
    """The signed-in person as a reviewer."""
    return Reviewer(person_id=visit.person.person_id, login=visit.person.login)


def parse_review_form(visit: Visit) -> ReviewFields:
    """The submitted fields of the form."""
    texts = {name: visit.field(name) for name in ("ruling", "reason", "note", "corrected")}
    return ReviewFields(**texts, remedy=visit.field("remedy") or Remedy.NONE)


def require_explanation(fields: ReviewFields) -> None:
    """The reason *something else, explained in the note* has a note.

    Raises:
        ReviewRejected: the note is empty.
    """
    if (fields.ruling, fields.reason) == (Ruling.OVERTURN, RulingReason.OTHER) and not fields.note.strip():
        raise ReviewRejected(_("Write the reason in the note."))


def submission_of(visit: Visit, decision_id: UUID, fields: ReviewFields) -> Submission:
    """The submission of a form.

    Raises:
        ReviewRejected: a field has an unknown value.
    """
    return Submission(
        decision_id=decision_id,
        reviewer=reviewer_of(visit),
        ruling=parse_code("ruling", fields.ruling, RULINGS),
        reason=parse_optional_code("reason", fields.reason, tuple(RulingReason)),
        note=fields.note.replace("\r\n", "\n"),
        corrected=parse_optional_code("corrected decision", fields.corrected, tuple(DecisionKind)),
        remedy=parse_optional_code("remedy", fields.remedy, tuple(Remedy)) or Remedy.NONE,
        seen=last_seen_of(visit),
        of_item=visit.field("item") == "1",
    )


def last_seen_of(visit: Visit) -> UUID | None:
    """The newest review on the page of the form.

    Raises:
        ReviewRejected: the field is not an id.
    """
    text = visit.field("seen")
    try:
        return UUID(text) if text else None
    except ValueError as error:
        problem = _("This form is not from the page. Open the page again.")
        raise ReviewRejected(problem) from error


def parse_code(name: str, text: str, codes: Sequence[Code]) -> Code:
    """One of the codes.

    Raises:
        ReviewRejected: the text is empty or none of them.
    """
    if text not in codes:
        got = repr(text[:60]) if text else _("nothing")
        problem = _("%(field)s: expected %(known)s, got %(got)s")
        known = ", ".join(filter(None, codes))
        raise ReviewRejected(problem % {"field": name, "known": known, "got": got})
    return codes[codes.index(text)]


def parse_optional_code(name: str, text: str, codes: Sequence[Code]) -> Code | None:
    """One of the codes, as ``parse_code``; None for an empty text."""
    return parse_code(name, text, codes) if text else None
