"""Holds and erasures of the account in the path: what a person wrote, checked and stored."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from compliance.erasure import legal_holds, records
from compliance.erasure.legal_holds import (
    REASON_CHARS,
    SUBJECT_CHARS,
    HoldKind,
    HoldRefused,
    LegalHold,
    NewHold,
    PlacedHold,
    placed_detail,
)
from compliance.erasure.records import Erasure, ErasureHeld, ErasureKind, NewErasure
from db.access_log import LogEntry, LoggedAction
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.typed.moments import moment

Kind = TypeVar("Kind", bound=StrEnum)
HELD = mark("A legal hold is on it. Release the hold first.")
TOO_LATE = mark(
    "Nothing was changed: it was not counted yet, was confirmed or cancelled before, or has ended."
)
NO_ERASURE = Refused(404, "No such erasure", "It is not of this account.")
NO_HOLD = Refused(404, "No such hold", "It is not of this account.")


class Unusable(Exception):
    """A field cannot be used; the text says which, what was expected and what came."""


async def place(visit: Visit, kind: str, subject: str, reason: str, until: str) -> PlacedHold:
    """Place a hold.

    Raises:
        Unusable: a field cannot be used.
    """
    user_id = account_of_path(visit)
    new = NewHold(
        user_id=user_id,
        kind=_kind(HoldKind, kind),
        subject=subject,
        reason=_text("reason", reason, REASON_CHARS),
        placed_by=visit.person.login,
        until=_end(until, visit.now),
    )
    logged = _hold_entry(visit, placed_detail(new))
    try:
        return await legal_holds.place_hold(visit.store.pool, new, visit.now, logged=logged)
    except HoldRefused as problem:
        raise Unusable(str(problem)) from None


async def release(visit: Visit) -> LegalHold:
    """Release the hold of the path; 404 for an unknown hold, 409 for a released one."""
    found = await legal_holds.get_hold(visit.store.pool, visit.path_id("hold_id", NO_HOLD))
    if found is None or found.user_id != account_of_path(visit):
        raise NO_HOLD
    logged = _hold_entry(visit, {"released": str(found.id)})
    by, pool = visit.person.login, visit.store.pool
    released = await legal_holds.release_hold(pool, found.id, by, visit.now, logged=logged)
    if released is None:
        raise Refused(409, "Released before", "The hold was released before.")
    return released


async def ask(visit: Visit, kind: str, subject: str, reason: str) -> Erasure:
    """Store a request; a worker counts what would be erased.

    Raises:
        Unusable: a field cannot be used.
        Refused: 409, a legal hold is on it.
    """
    user_id, chosen = account_of_path(visit), _kind(ErasureKind, kind)
    subject = _text("subject", subject, SUBJECT_CHARS)
    if chosen is ErasureKind.ACCOUNT and subject != user_id:
        raise Unusable(_("subject: expected the account's name again, to be sure"))
    reason = _text("reason", reason, REASON_CHARS)
    new = NewErasure(
        user_id=user_id, kind=chosen, subject=subject, reason=reason, requested_by=visit.person.login
    )
    logged = _erasure_entry(visit, {"change": f"requested: {chosen.value}"})
    try:
        return await records.add_erasure(visit.store.pool, new, visit.now, logged=logged)
    except ErasureHeld:
        raise Refused(409, "Under a legal hold", HELD) from None


async def erasure_of_path(visit: Visit) -> Erasure:
    """The erasure of the path, of the account there; 404 without it."""
    found = await records.get_erasure(visit.store.pool, visit.path_id("erasure_id", NO_ERASURE))
    if found is None or found.user_id != account_of_path(visit):
        raise NO_ERASURE
    return found


async def confirm(visit: Visit) -> Erasure:
    """Let a worker begin with the erasure of the path; 409 when that is not possible now."""
    found, by = await erasure_of_path(visit), visit.person.login
    logged = _erasure_entry(visit, {"change": "confirmed", "erasure": str(found.id)})
    pool = visit.store.pool
    return _changed(await records.confirm_erasure(pool, found.id, by, logged=logged))


async def cancel(visit: Visit) -> Erasure:
    """Cancel the erasure of the path; 409 for a confirmed erasure."""
    found = await erasure_of_path(visit)
    logged = _erasure_entry(visit, {"change": "cancelled", "erasure": str(found.id)})
    return _changed(await records.cancel_erasure(visit.store.pool, found.id, logged=logged))


def _changed(found: Erasure | None) -> Erasure:
    if found is None:
        raise Refused(409, "Not possible now", TOO_LATE)
    return found


def _kind(kinds: type[Kind], value: str) -> Kind:
    try:
        return kinds(value)
    except ValueError:
        raise Unusable(
            _("kind: expected one of %(kinds)s, got “%(got)s”")
            % {"kinds": ", ".join(kinds), "got": value[:40]}
        ) from None


def _text(field: str, value: str, most: int) -> str:
    if not 0 < len(value.strip()) <= most:
        raise Unusable(
            _("%(field)s: expected 1 to %(most)s characters, got %(got)s")
            % {"field": field, "most": most, "got": len(value.strip())}
        )
    return value.strip() if field == "reason" else value


def _end(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    try:
        end = moment(text, now)
    except ValueError:
        raise Unusable(
            _("until: expected a date such as 2027-06-30 or nothing, got “%(got)s”") % {"got": text[:40]}
        ) from None
    if end <= now:
        raise Unusable(_("until: expected a time that is not over"))
    return end


def _hold_entry(visit: Visit, detail: dict[str, str | None]) -> LogEntry:
    return visit.entry(LoggedAction.HOLD, user_id=account_of_path(visit), detail=detail)


def _erasure_entry(visit: Visit, detail: dict[str, str]) -> LogEntry:
    return visit.entry(LoggedAction.ERASURE, user_id=account_of_path(visit), detail=detail)
