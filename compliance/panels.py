"""What compliance shows on pages of the core: holds and erasures of a subject, and the link to an appeal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from compliance.erasure import legal_holds, records
from compliance.erasure.records import hash_subject
from db.collaboration.subjects import Subject
from review.http.visit import Visit


async def show_subject(visit: Visit, subject: Subject) -> Markup:
    """Legal holds in force and erasures of exactly this author or conversation, newest first.

    An erasure that has ended is recognised by its salted hash alone.
    """
    pool, account, kind = visit.store.pool, (subject.user_id,), subject.kind.value
    held = await legal_holds.list_holds(pool, account)
    requested = await records.list_erasures(pool, account)
    return visit.fragment(
        "erasure/_subject.html",
        subject=subject,
        holds=[each for each in held if each.kind == kind and each.subject == subject.id],
        erasures=[
            each
            for each in requested
            if each.kind == kind
            and (each.subject == subject.id or hash_subject(each.salt, subject.id) == each.subject_hash)
        ],
    )


async def show_decision(visit: Visit, row: Mapping[str, Any]) -> Markup:
    """The link to enter an appeal against a decision without a reply."""
    return visit.fragment("appeals/_decision.html", row=row)


PANELS: Final = {"decision": show_decision, "subject": show_subject}
