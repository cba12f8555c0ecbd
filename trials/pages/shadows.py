"""Shadows on the page Learn: what candidates would have done with the events since they were started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.reviews import queues
from db.reviews.queues import NewQueue, QueueKind
from db.reviews.rulings import ReviewRejected
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.typed.numbers import typed_number
from trials.pages.wording import TITLES, setting_titles
from trials.pure.replay.groups import DIFFERENCES, GroupCount, group_counts
from trials.store import shadows
from trials.store.candidates import Author, TrialRefused, get_candidate, list_candidates
from trials.store.shadow_queues import fill_queues_of
from trials.store.shadows import MOST_RUNNING, Shadow, ShadowState
from worker.account_settings import AccountRejected

SHOWN: Final = 10
STATES: Final[Mapping[str, str]] = {
    ShadowState.RUNNING: mark("running"),
    ShadowState.STOPPED: mark("stopped"),
    ShadowState.FAILED: mark("switched off"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownShadow:
    """A shadow with the titles of its candidate's settings.

    Attributes:
        differences: by kind, each with the link to its decisions.
        others: equal decisions and those that were not made again; without empty groups.
    """

    shadow: Shadow
    settings: tuple[str, ...]
    note: str
    total: int
    differences: tuple[tuple[GroupCount, str], ...]
    others: tuple[GroupCount, ...]

    @property
    def different(self) -> int:
        """Decisions that would have ended otherwise."""
        return sum(each.decisions for each, _link in self.differences)


async def load_shadows(visit: Visit, account: str) -> Mapping[str, Any]:
    """The newest shadows, and the candidates that may be started."""
    found = await shadows.list_shadows(visit.store.pool, account, limit=SHOWN)
    running = {each.candidate_id for each in found if each.state == ShadowState.RUNNING}
    candidates = await list_candidates(visit.store.pool, account)
    return {
        "shadows": [await _shown(visit, each) for each in found],
        "states": STATES,
        "titles": TITLES,
        "full": len(running) >= MOST_RUNNING,
        "most": MOST_RUNNING,
        "startable": [
            (each, setting_titles(each.changes))
            for each in candidates
            if each.withdrawn_at is None and each.candidate_id not in running
        ],
    }


async def start(visit: Visit) -> Response:
    """Start a shadow."""
    account = account_of_path(visit)
    candidate_id = _id(visit, "candidate")
    found = await get_candidate(visit.store.pool, candidate_id)
    if found is None or found.user_id != account:
        raise Refused(404, _("No such candidate"), _("Choose a candidate of this account."))
    try:
        await shadows.start_shadow(visit.store.pool, candidate_id, _step(visit), usd_a_day=_usd(visit))
    except (TrialRefused, AccountRejected) as refused:
        raise Refused(409, _("The shadow was not started"), str(refused)) from refused
    return visit.redirect("learn", account=account)


async def stop(visit: Visit) -> Response:
    """Stop a shadow."""
    account, shadow = await _shadow(visit)
    try:
        await shadows.stop_shadow(visit.store.pool, shadow.shadow_id, _step(visit))
    except TrialRefused as refused:
        raise Refused(409, _("The shadow was not stopped"), str(refused)) from refused
    return visit.redirect("learn", account=account)


async def open_queue(visit: Visit) -> Response:
    """Open a queue with what a shadow would have ended otherwise; later differences are added."""
    account, shadow = await _shadow(visit)
    name = _("Shadow of %(account)s, %(id)s") % {"account": account, "id": str(shadow.shadow_id)[-6:]}
    try:
        async with visit.store.writing() as connection:
            queue_id = await queues.create_queue(
                connection,
                NewQueue(name=name[:100], kind=QueueKind.HAND),
                accounts=(account,),
                created_by=visit.person.login,
                now=visit.now,
                shadow=shadow.shadow_id,
            )
            detail = {"opened": str(queue_id), "shadow": str(shadow.shadow_id)}
            entry = visit.entry(LoggedAction.QUEUE, user_id=account, detail=detail)
            await access_log.append_entry(connection, entry)
    except ReviewRejected as rejected:
        raise Refused(409, _("The queue was not opened"), str(rejected)) from rejected
    await fill_queues_of(visit.store.pool, shadow.shadow_id)
    return visit.redirect("queues")


async def _shown(visit: Visit, shadow: Shadow) -> ShownShadow:
    candidate = await get_candidate(visit.store.pool, shadow.candidate_id)
    total = sum(shadow.counts.values())

    counts = group_counts(shadow.counts, total, always=DIFFERENCES)
    return ShownShadow(
        shadow=shadow,
        settings=setting_titles(candidate.changes if candidate else {}),
        note=candidate.note if candidate else "",
        total=total,
        differences=tuple((each, _link(shadow, each.name)) for each in counts if each.name in DIFFERENCES),
        others=tuple(each for each in counts if each.name not in DIFFERENCES),
    )


def _link(shadow: Shadow, kind: str) -> str:
    query = {"since": "all", "account": shadow.user_id, "shadow": f"{kind}:{shadow.candidate_id}"}
    return f"/decisions?{urlencode(query)}"


async def _shadow(visit: Visit) -> tuple[str, Shadow]:
    account = account_of_path(visit)
    found = await shadows.get_shadow(visit.store.pool, _id(visit, "shadow"))
    if found is None or found.user_id != account:
        raise Refused(404, _("No such shadow"), _("Choose a shadow of this account."))
    return account, found


def _id(visit: Visit, name: str) -> UUID:
    try:
        return UUID(visit.field(name))
    except ValueError as error:
        raise Refused(422, _("Not a valid id"), _("Choose one from the page Learn.")) from error


def _usd(visit: Visit) -> float:
    text = visit.field("usd_a_day").strip() or "0"
    try:
        return typed_number(text)
    except ValueError as error:
        problem = _("US dollars a day: expected a number, got %(got)s.")
        raise Refused(422, _("The shadow was not started"), problem % {"got": repr(text[:40])}) from error


def _step(visit: Visit) -> Author:
    entry = visit.entry(LoggedAction.SETTINGS)
    return Author(made_by=visit.person.login, reason=visit.field("reason"), now=visit.now, entry=entry)
