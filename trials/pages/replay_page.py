"""One decision made again: with the settings that decided it, or with a candidate; nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from review.access import Right
from review.decision import page
from review.http.visit import Refused, Visit
from trials.pages.wording import NOT_MADE, TITLES
from trials.store.candidates import SettingsCandidate, candidate_account, list_candidates
from trials.store.recordings import load_decisions
from trials.store.replaying import ReplayedDecision, Replayer
from worker.account_settings import AccountRejected


async def show_replay(visit: Visit) -> Response:
    """Make the decision again, with ``?candidate=`` with that candidate, and show both endings."""
    decision = await page.load_decision(visit)
    row = decision.row
    visit.require(Right.LEAD, row["user_id"])
    if decision.blind:
        return visit.render("learn/replay.html", row=row, blind=True)
    candidates = await list_candidates(visit.store.pool, row["user_id"])
    chosen = _chosen(visit, candidates)
    made = await _made(visit, row["id"], row["user_id"], chosen)
    detail = {"replay": str(chosen.candidate_id) if chosen else "pinned"}
    await visit.log(LoggedAction.READ, user_id=row["user_id"], decision_id=row["id"], detail=detail)
    return visit.render(
        "learn/replay.html",
        row=row,
        blind=False,
        made=made,
        after=made.difference.after if made.difference else None,
        unequal=made.difference.unequal if made.difference else (),
        chosen=chosen,
        candidates=candidates,
        group_names=TITLES,
        states=NOT_MADE,
    )


def _chosen(visit: Visit, candidates: Sequence[SettingsCandidate]) -> SettingsCandidate | None:
    asked = visit.request.query_params.get("candidate", "")
    if not asked:
        return None
    found = next((each for each in candidates if str(each.candidate_id) == asked), None)
    if found is None:
        raise Refused(404, "There is no such candidate", "candidate: expected one of this account.")
    return found


async def _made(
    visit: Visit, decision_id: UUID, user_id: str, chosen: SettingsCandidate | None
) -> ReplayedDecision:
    source = visit.store.pool
    (stored,) = await load_decisions(source, [decision_id])
    try:
        settings = {user_id: await candidate_account(source, chosen)} if chosen else {}
    except AccountRejected as error:
        raise Refused(422, "This candidate cannot be used", str(error)[:1000]) from error
    return await Replayer(source=source, candidates=settings).replay(stored)
