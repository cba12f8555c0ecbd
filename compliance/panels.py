"""What compliance shows on pages of the core: holds and erasures of an author or conversation."""

from __future__ import annotations

from typing import Final

from compliance.erasure import legal_holds, records
from compliance.erasure.records import hash_subject
from db.collaboration.subjects import Subject
from review.http.visit import Visit
from review.panels import Panel


async def subject_panel(visit: Visit, subject: Subject) -> Panel:
    """Legal holds in force and erasures of exactly this author or conversation, newest first.

    An erasure that has ended is recognised by its salted hash alone.
    """
    pool, account, kind = visit.store.pool, (subject.user_id,), subject.kind.value
    held = await legal_holds.list_holds(pool, account)
    requested = await records.list_erasures(pool, account)
    html = visit.fragment(
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
    return Panel(html=html)


PANELS: Final = {"subject": (subject_panel,)}
