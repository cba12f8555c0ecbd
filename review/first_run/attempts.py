"""Refuses paid attempts beyond the limit; an allowed attempt is logged before its start."""

from __future__ import annotations

from db.access_log import LoggedAction
from db.people.attempts import AttemptKind, PaidAttempt, attempt_wait_s
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import ngettext


async def begin_attempt(visit: Visit, kind: AttemptKind, detail: str, user_id: str | None = None) -> None:
    """Log an attempt; ``detail`` identifies it.

    Raises:
        Refused: 429, the person or the account had too many within a minute.
    """
    attempt = PaidAttempt(kind=kind, person_id=visit.person.person_id, user_id=user_id)
    async with visit.store.writing() as connection:
        if wait_s := await attempt_wait_s(connection, attempt):
            text = ngettext(
                "The calls cost money. Wait %(seconds)s second, then test again.",
                "The calls cost money. Wait %(seconds)s seconds, then test again.",
                wait_s,
            )
            raise Refused(429, _("Too many tests"), text % {"seconds": wait_s}, retry_after_s=wait_s)
        line = {kind.value: detail}
        await visit.log(LoggedAction.SETTINGS, user_id=user_id, detail=line, connection=connection)
