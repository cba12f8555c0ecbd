"""Legal holds and erasures of an account as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field
from starlette.responses import Response

from compliance.erasure import forms, legal_holds, records
from compliance.erasure.forms import Unusable
from compliance.erasure.legal_holds import REASON_CHARS, SUBJECT_CHARS, HoldKind, LegalHold
from compliance.erasure.records import Erasure, ErasureKind
from db.access_log import LoggedAction
from review.accounts.stored_versions import account_of_path
from review.api.body import json_answer, read_body, rejected
from review.api.change_shapes import STRICT
from review.http.visit import Visit
from review.typed.kinds import FILLED, TIME

SubjectText: TypeAlias = Annotated[str, Field(pattern=FILLED, max_length=SUBJECT_CHARS)]
GivenReason: TypeAlias = Annotated[str, Field(pattern=FILLED, max_length=REASON_CHARS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHoldBody:
    """A hold to place; ``kind`` is decision, conversation or author, ``until`` a date, or empty."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    kind: HoldKind
    subject: SubjectText
    reason: GivenReason
    until: Annotated[str, Field(pattern=f"^(?:{TIME})?$")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldBody(LegalHold):
    """A hold, in force until ``until`` or its release, or for ever without either.

    ``decisions`` is only in the answer that places it: how many it covers then, 10000 at most.
    """

    decisions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldsBody:
    """The holds of an account, newest first."""

    holds: tuple[HoldBody, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewErasureBody:
    """An erasure to count; ``kind`` is author, conversation or account, ``subject`` its id."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    kind: ErasureKind
    subject: SubjectText
    reason: GivenReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureBody:
    """An erasure. ``preview`` and ``erased`` are rows by table and entries by stream.

    ``phase`` is ``previewed`` when it may be confirmed and ``finished`` when it has its receipt.
    """

    id: UUID
    kind: str
    reason: str
    phase: str
    requested_by: str
    requested_at: datetime
    preview: Mapping[str, int] | None
    confirmed_by: str | None
    confirmed_at: datetime | None
    erased: Mapping[str, int]
    finished_at: datetime | None
    receipt: Mapping[str, Any] | None
    signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasuresBody:
    """The erasures of an account, newest first."""

    erasures: tuple[ErasureBody, ...]


async def list_holds(visit: Visit) -> Response:
    """The holds of an account."""
    user_id = account_of_path(visit)
    found = await legal_holds.list_holds(visit.store.pool, (user_id,), with_ended=True)
    await visit.log(LoggedAction.LIST, user_id=user_id, detail={"holds": len(found), "api": True})
    return json_answer({"holds": [_hold(each) for each in found]})


async def place_hold(visit: Visit) -> Response:
    """Place a hold; 201 with it."""
    body = await read_body(visit, NewHoldBody)
    try:
        placed = await forms.place(visit, body.kind, body.subject, body.reason, body.until)
    except Unusable as problem:
        raise rejected(str(problem)) from problem
    return json_answer(_hold(placed.hold, placed.decisions), status=201)


async def release_hold(visit: Visit) -> Response:
    """Release a hold; the released hold."""
    return json_answer(_hold(await forms.release(visit)))


async def list_erasures(visit: Visit) -> Response:
    """The erasures of an account."""
    user_id = account_of_path(visit)
    found = await records.list_erasures(visit.store.pool, (user_id,))
    await visit.log(LoggedAction.LIST, user_id=user_id, detail={"erasures": len(found), "api": True})
    return json_answer({"erasures": [_erasure(each) for each in found]})


async def request_erasure(visit: Visit) -> Response:
    """Request an erasure; 201 with it. A worker counts it within seconds."""
    body = await read_body(visit, NewErasureBody)
    try:
        found = await forms.ask(visit, body.kind, body.subject, body.reason)
    except Unusable as problem:
        raise rejected(str(problem)) from problem
    return json_answer(_erasure(found), status=201)


async def show_erasure(visit: Visit) -> Response:
    """One erasure with its counts, its progress and its receipt."""
    return json_answer(_erasure(await forms.erasure_of_path(visit)))


async def confirm_erasure(visit: Visit) -> Response:
    """Let a worker erase what was counted."""
    return json_answer(_erasure(await forms.confirm(visit)))


async def cancel_erasure(visit: Visit) -> Response:
    """Cancel an erasure that is not confirmed."""
    return json_answer(_erasure(await forms.cancel(visit)))


def _hold(hold: LegalHold, decisions: int | None = None) -> dict[str, Any]:
    return asdict(hold) | {"decisions": decisions}


def _erasure(erasure: Erasure) -> dict[str, Any]:
    return {name: getattr(erasure, name) for name in ErasureBody.__slots__}
