"""The review that a bulk review repeats, from its form."""

from __future__ import annotations

from dataclasses import replace

from db.reviews.rulings import NOTE_CHARS, Remedy, ReviewRejected, ReviewSource, Ruling, RulingReason
from db.reviews.submission import Submission
from review.decision.review_form import ReviewFields, submission_of
from review.http.visit import Visit
from review.languages import gettext as _
from review.queues.bulk_jobs import NO_DECISION


def parse_bulk_submission(visit: Visit, fields: ReviewFields) -> Submission:
    """The review for each decision; its id is a placeholder.

    Raises:
        ReviewRejected: a field is invalid, or is one that only a single review has.
    """
    submission = submission_of(visit, NO_DECISION, fields)
    if submission.reason is None:
        raise ReviewRejected(_("Choose a reason: a bulk review needs one."))
    if submission.reason is RulingReason.CORRECT and submission.ruling is Ruling.OVERTURN:
        raise ReviewRejected(_("Choose the reason that says what was wrong, as you overturn them."))
    if submission.remedy is not Remedy.NONE and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected(_("Choose to restore the exchanges only when you overturn."))
    if submission.remedy not in {Remedy.NONE, Remedy.RESTORE}:
        raise ReviewRejected(
            _("Choose to restore the exchanges or leave them; replies are removed one by one.")
        )
    if submission.corrected is not None and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected(_("Choose the right decision only when you overturn."))
    if len(submission.note) > NOTE_CHARS or "\0" in submission.note:
        text = _("Write a note of at most %(most)s characters.")
        raise ReviewRejected(text % {"most": NOTE_CHARS})
    return replace(submission, source=ReviewSource.BULK, note=submission.note.strip())
