"""The review that a bulk review repeats, from its form."""

from __future__ import annotations

from dataclasses import replace

from db.reviews.rulings import NOTE_CHARS, Remedy, ReviewRejected, ReviewSource, Ruling, RulingReason
from db.reviews.submission import Submission
from review.http.visit import Visit
from review.queues.bulk_jobs import NO_DECISION
from review.queues.review_form import ReviewDraft, submission_of


def parse_bulk_submission(visit: Visit, draft: ReviewDraft) -> Submission:
    """The review for each decision; its id is a placeholder.

    Raises:
        ReviewRejected: a field is invalid, or is one that only a single review has.
    """
    submission = submission_of(visit, NO_DECISION, draft)
    if submission.reason is None:
        raise ReviewRejected("reason: expected a reason code, which a bulk review requires, got nothing")
    if submission.reason is RulingReason.CORRECT and submission.ruling is Ruling.OVERTURN:
        raise ReviewRejected(
            f"reason: expected what was wrong, as you overturn them, got {RulingReason.CORRECT}"
        )
    if submission.remedy is not Remedy.NONE and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("remedy: expected a restore only with overturn")
    if submission.remedy not in {Remedy.NONE, Remedy.RESTORE}:
        raise ReviewRejected("remedy: expected a restore or nothing; replies are removed one by one")
    if submission.corrected is not None and submission.ruling is not Ruling.OVERTURN:
        raise ReviewRejected("corrected decision: expected only with overturn")
    if len(submission.note) > NOTE_CHARS or "\0" in submission.note:
        raise ReviewRejected(f"note: expected at most {NOTE_CHARS} characters without NUL")
    return replace(submission, source=ReviewSource.BULK, note=submission.note.strip())
