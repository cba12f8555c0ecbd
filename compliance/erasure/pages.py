"""The page of an account's holds and erasures, and the page of one erasure."""

from __future__ import annotations

from typing import Final

import orjson
from starlette.responses import Response

from compliance.erasure import forms, legal_holds, records
from compliance.erasure.forms import Unusable
from compliance.erasure.legal_holds import MOST_COUNTED, REASON_CHARS, SUBJECT_CHARS, HoldKind
from compliance.erasure.records import ErasureKind
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.typed.problems import button_problem

DONE: Final = {
    "placed": mark("The hold is in force. Decisions that it covers now: %(decisions)s."),
    "released": mark("The hold was released. The next sweep deletes what is old enough."),
    "cancelled": mark("The erasure was cancelled. Nothing was erased."),
}
EMPTY: Final = {"form": "", "kind": "", "subject": "", "reason": "", "until": ""}


async def show_holds(visit: Visit) -> Response:
    """Holds and erasures of the account, with forms for new ones."""
    query = visit.request.query_params
    named = {name: query.get(name, "")[:SUBJECT_CHARS] for name in ("form", "kind", "subject")}
    return await _show(visit, typed=EMPTY | named if named["form"] else None)


async def change_holds(visit: Visit) -> Response:
    """Place a hold, or request an erasure."""
    typed = {name: visit.field(name) for name in EMPTY}
    fields = (typed["kind"], typed["subject"], typed["reason"])
    try:
        if typed["form"] == "hold":
            placed = await forms.place(visit, *fields, typed["until"])
            query = f"done=placed&decisions={placed.decisions}"
            return visit.redirect("holds", query, account=account_of_path(visit))
        if typed["form"] == "erasure":
            found = await forms.ask(visit, *fields)
            return visit.redirect("erasure", account=found.user_id, erasure_id=found.id)
    except Unusable as problem:
        return await _show(visit, typed=typed, problem=f"{problem}.", status=422)
    raise Refused(400, "Which form?", button_problem())


async def release_hold(visit: Visit) -> Response:
    """Release a hold."""
    await forms.release(visit)
    return visit.redirect("holds", "done=released", account=account_of_path(visit))


async def show_erasure(visit: Visit) -> Response:
    """The page of one erasure: what would be erased, what was erased, and the receipt."""
    found = await forms.erasure_of_path(visit)
    counts = sorted((found.erased or found.preview or {}).items())
    return visit.render(
        "erasure/erasure.html",
        account=found.user_id,
        erasure=found,
        counts=[(name, rows) for name, rows in counts if rows],
        tab="holds",
    )


async def confirm_erasure(visit: Visit) -> Response:
    """Let a worker erase, after a confirmation."""
    if visit.field("sure") != "yes":
        raise Refused(400, "Not confirmed", "Tick the box: an erasure cannot be undone.")
    found = await forms.confirm(visit)
    return visit.redirect("erasure", account=found.user_id, erasure_id=found.id)


async def cancel_erasure(visit: Visit) -> Response:
    """Cancel an erasure that is not confirmed."""
    await forms.cancel(visit)
    return visit.redirect("holds", "done=cancelled", account=account_of_path(visit))


async def download_receipt(visit: Visit) -> Response:
    """The signed receipt as a file."""
    found = await forms.erasure_of_path(visit)
    if found.receipt is None:
        raise Refused(404, "No receipt yet", "The erasure has not ended.")
    body = orjson.dumps({"receipt": found.receipt, "signature": found.signature}, option=orjson.OPT_INDENT_2)
    name = f'attachment; filename="erasure-{found.id}.json"'
    return Response(body, media_type="application/json", headers={"Content-Disposition": name})


def _done(visit: Visit) -> str:
    query = visit.request.query_params
    decisions = query.get("decisions", "")
    known = int(decisions) if decisions.isdecimal() and len(decisions) < 10 else 0
    shown = _("%(num)s or more") % {"num": known} if known == MOST_COUNTED else str(known)
    return _(DONE.get(query.get("done", ""), "")) % {"decisions": shown}


async def _show(
    visit: Visit, *, typed: dict[str, str] | None = None, problem: str = "", status: int = 200
) -> Response:
    user_id = account_of_path(visit)
    return visit.render(
        "erasure/account.html",
        status=status,
        account=user_id,
        holds=await legal_holds.list_holds(visit.store.pool, (user_id,), with_ended=True),
        erasures=await records.list_erasures(visit.store.pool, (user_id,)),
        hold_kinds=list(HoldKind),
        erasure_kinds=list(ErasureKind),
        typed=typed or EMPTY,
        problem=problem,
        reason_chars=REASON_CHARS,
        subject_chars=SUBJECT_CHARS,
        done=_done(visit),
        tab="holds",
    )
