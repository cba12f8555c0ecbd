"""Sample data: added and removed with one button each, for administrators of every account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import accounts
from db.connection import Connection
from db.documents import storage
from db.people.sample_data import (
    SAMPLE_ACCOUNT,
    SampleState,
    load_sample_state,
    remove_samples,
)
from db.reviews import queues
from db.reviews.queues import NewQueue, QueueKind
from db.reviews.rulings import ReviewRejected
from review.access import Right
from review.first_run import samples
from review.http.visit import Refused, Visit
from review.languages import gettext as _

ALL: Final = len(samples.MESSAGES)
NO_WORKER_AFTER: Final = timedelta(seconds=10)
"""Time after which, without a decision, probably no worker runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleView:
    """The sample data as pages show it.

    Attributes:
        added: whether it is there.
        waits: messages without a decision.
        no_worker: whether probably no worker runs.
        late: messages that a worker still has to read after the removal.
        possible: whether this server can publish.
    """

    added: bool
    decided: int
    waits: int
    no_worker: bool
    late: int
    possible: bool


def may_use_samples(visit: Visit) -> bool:
    """Whether the person administers every account."""
    return visit.may(Right.ADMIN) and visit.accounts(Right.ADMIN) is None


async def load_samples(visit: Visit, connection: Connection) -> SampleView | None:
    """The sample data, for those who may add and remove it; None for others."""
    if not may_use_samples(visit):
        return None
    return _view(visit, await load_sample_state(connection))


def _view(visit: Visit, state: SampleState, late: int = 0) -> SampleView:
    decided = min(state.decided, ALL)
    silent = state.added_at is not None and visit.now - state.added_at >= NO_WORKER_AFTER
    return SampleView(
        added=state.added_at is not None,
        decided=decided,
        waits=ALL - decided,
        no_worker=silent and decided == 0,
        late=late,
        possible=visit.site.first_run.events is not None,
    )


async def show_samples(visit: Visit) -> Response:
    """What the sample data is, how far it is decided, and the button."""
    _require(visit)
    query = visit.request.query_params
    late = query.get("late", "")
    async with visit.store.reading() as connection:
        state = await load_sample_state(connection)
    number = min(int(late), ALL) if late.isascii() and late.isdigit() and len(late) < 4 else 0
    return visit.render(
        "first_run/sample.html",
        samples=_view(visit, state, number),
        account=SAMPLE_ACCOUNT,
        removed="removed" in query,
        all=ALL,
    )


async def add_samples(visit: Visit) -> Response:
    """Store account, documents and queue, then publish the messages; all or nothing."""
    _require(visit)
    if visit.site.first_run.events is None:
        raise Refused(409, _("No stream of events"), _("This server has no settings of Redis."))
    try:
        await accounts.store_account(
            visit.store.pool, samples.sample_account(), changed_by=visit.person.login, expected=0
        )
    except accounts.VersionMoved:
        return visit.redirect("sample_data")  # two administrators pressed the button at once
    try:
        await _store_rest(visit)
        await run_in_threadpool(_publish, visit)
    except Refused:
        async with visit.store.writing() as connection:
            await remove_samples(connection)
        raise
    await visit.log(LoggedAction.SETTINGS, user_id=SAMPLE_ACCOUNT, detail={"samples": "added"})
    return visit.redirect("sample_data")


async def delete_samples(visit: Visit) -> Response:
    """Delete everything of the sample account."""
    _require(visit)
    async with visit.store.writing() as connection:
        before = await load_sample_state(connection)
        removed = await remove_samples(connection)
        if removed is not None:
            detail = {"samples": "removed", "decisions": removed}
            await visit.log(LoggedAction.SETTINGS, detail=detail, connection=connection)
    if removed is None:
        raise Refused(
            409, _("Under a legal hold"), _("A legal hold is on the sample data. Release the hold first.")
        )
    late = 0 if before.added_at is None else max(0, ALL - before.decided)
    return visit.redirect("sample_data", f"removed=1&late={late}")


async def _store_rest(visit: Visit) -> None:
    for title, text in samples.DOCUMENTS.items():
        await storage.add_text_document(visit.store.pool, SAMPLE_ACCOUNT, title, text.split("\n\n"))
    async with visit.store.writing() as connection:
        for number in range(1, 100):
            name = samples.QUEUE_NAME if number == 1 else f"{samples.QUEUE_NAME} {number}"
            try:
                queue = NewQueue(name=name, kind=QueueKind.HAND)
                await queues.create_queue(
                    connection, queue, accounts=[SAMPLE_ACCOUNT], created_by=SAMPLE_ACCOUNT, now=visit.now
                )
            except ReviewRejected:
                continue  # a queue of the person has this name
            return


def _publish(visit: Visit) -> None:
    events = visit.site.first_run.events
    assert events is not None  # the caller has looked
    for event in samples.sample_events(visit.now):
        events.publish(event)


def _require(visit: Visit) -> None:
    if not may_use_samples(visit):
        needed = _("Only people who administer every account may add or remove sample data.")
        raise Refused(403, _("Not allowed"), needed)
