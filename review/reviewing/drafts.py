"""Reviews while they are written: the form's fields, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from db.reviewing import Submission
from db.reviews import GIVEN, Cause, Remedy, Reviewer, ReviewRejected, Ruling
from review.web import Visit
from worker.model import Verdict

Word = TypeVar("Word", Ruling, Cause, Verdict, Remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A review that is being written, as the form's fields; empty text for what was not chosen."""

    verdict: str = ""
    reason: str = ""
    note: str = ""
    corrected: str = ""
    remedy: str = Remedy.NONE


def who(visit: Visit) -> Reviewer:
    """The person as the one who rules."""
    return Reviewer(person_id=visit.person.person_id, login=visit.person.login)


def draft_of(visit: Visit) -> Draft:
    """The form's fields as they came."""
    fields = {name: str(visit.form.get(name, "")) for name in ("verdict", "reason", "note", "corrected")}
    return Draft(**fields, remedy=str(visit.form.get("remedy", "")) or Remedy.NONE)


def submission(visit: Visit, decision_id: UUID, draft: Draft) -> Submission:
    """A draft as a review.

    Raises:
        ReviewRejected: a field is none of the words it can be.
    """
    ruling = _word(Ruling, "verdict", draft.verdict, GIVEN)
    if ruling is None:
        raise ReviewRejected(f"verdict: expected {', '.join(GIVEN)}, got nothing")
    return Submission(
        decision_id=decision_id,
        reviewer=who(visit),
        ruling=ruling,
        cause=_word(Cause, "reason", draft.reason, tuple(Cause)),
        note=draft.note.replace("\r\n", "\n"),
        corrected=_word(Verdict, "corrected decision", draft.corrected, tuple(Verdict)),
        remedy=_word(Remedy, "remedy", draft.remedy, tuple(Remedy)) or Remedy.NONE,
        seen=seen_by(visit),
    )


def seen_by(visit: Visit) -> UUID | None:
    """The newest review that was on the page the form came from.

    Raises:
        ReviewRejected: no page of ours sends that.
    """
    text = str(visit.form.get("seen", ""))
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise ReviewRejected("seen: expected what the page sent, got something else; reload it") from error


def _word(kind: type[Word], name: str, text: str, known: tuple[Word, ...]) -> Word | None:
    if not text:
        return None
    if text not in known:
        raise ReviewRejected(f"{name}: expected {', '.join(known)}, got {text[:60]!r}")
    return kind(text)
