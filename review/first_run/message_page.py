"""A test message of an account: published from the page as a real event, and watched until it is decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.account_settings import accounts
from db.audit.decision_context import DecisionRow, get_decision
from db.people.attempts import AttemptKind
from db.people.first_steps import decided_event
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.first_run.attempts import begin_attempt
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.services.first_run import EventPlace
from review.typed.problems import length_problem
from worker.model import DecisionKind
from worker.reasons import HELD
from worker.snapshot import Snapshot, SnapshotStage

MARK: Final = "test-message-"
"""Start of the ids of event, conversation and message, by which channels and people know a test."""
AUTHOR: Final = "test-message"
TEXT_CHARS: Final = 2000
EVENT_ID: Final = re.compile(MARK + r"[0-9a-f-]{36}")
ENTRY_ID: Final = re.compile(r"[0-9]{1,20}-[0-9]{1,20}[-a-z0-9.:/]{0,20}")
NO_WORKER_AFTER: Final = timedelta(seconds=5)
"""An event that no worker has read by then probably has none."""
LOST_AFTER: Final = timedelta(minutes=2)
"""An event that left the stream is decided within a moment, or is a dead letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedMessage:
    """A published test message.

    Attributes:
        row: the decision on the message; None before it.
        place: where its entry is.
        waits_s: seconds since it was published.
        stages: the stages of the decision.
        cover: why the texts are covered; empty for shown texts.
    """

    event_id: str
    place: EventPlace
    waits_s: float
    row: DecisionRow | None
    stages: tuple[SnapshotStage, ...]
    cover: tuple[str, ...]

    @property
    def waits_for_person(self) -> bool:
        """Whether a person must answer or approve."""
        row = self.row
        return row is not None and (row["decision"] == DecisionKind.ESCALATE or row["reason_code"] in HELD)

    @property
    def no_worker(self) -> bool:
        """Whether probably no worker runs."""
        return self.place is EventPlace.UNREAD and self.waits_s >= NO_WORKER_AFTER.total_seconds()

    @property
    def lost(self) -> bool:
        """Whether it left the stream without a decision."""
        gone = self.place is EventPlace.LEFT and self.row is None
        return gone and self.waits_s >= LOST_AFTER.total_seconds()


async def show_message_test(visit: Visit) -> Response:
    """The form; with ``event`` and ``entry`` the state of that message."""
    user_id, query = account_of_path(visit), visit.request.query_params
    event_id, entry_id = query.get("event", ""), query.get("entry", "")
    if not event_id:
        return await _page(visit, user_id)
    if EVENT_ID.fullmatch(event_id) is None or ENTRY_ID.fullmatch(entry_id) is None:
        raise Refused(404, _("No such test message"), _("Send another one."))
    return await _page(visit, user_id, watched=await _watched(visit, user_id, event_id, entry_id))


async def send_message_test(visit: Visit) -> Response:
    """Publish the message."""
    user_id, text, events = account_of_path(visit), visit.field("text").strip(), visit.site.first_run.events
    if events is None:
        raise Refused(409, _("No stream of events"), _("This server has no settings of Redis."))
    if not text or len(text) > TEXT_CHARS or "\0" in text:
        raise Refused(400, _("Message"), length_problem(TEXT_CHARS))
    event_id = f"{MARK}{uuid7()}"
    await begin_attempt(visit, AttemptKind.TEST_MESSAGE, event_id, user_id)
    entry_id = await run_in_threadpool(events.publish, message_event(visit, user_id, event_id, text))
    return visit.redirect("message_test", f"event={event_id}&entry={entry_id}", account=user_id)


def message_event(visit: Visit, user_id: str, event_id: str, text: str) -> dict[str, Any]:
    """The event of a chat message; conversation and message have the same id as the event."""
    return {
        "event_id": event_id,
        "user_id": user_id,
        "scope": "chat",
        "conversation_id": event_id,
        "message_id": event_id,
        "author_id": AUTHOR,
        "text": text,
        "created_at": visit.now.isoformat(),
    }


async def _watched(visit: Visit, user_id: str, event_id: str, entry_id: str) -> WatchedMessage:
    # before the decision: an event leaves the stream after its decision is stored
    place = await _place(visit, user_id, event_id, entry_id)
    async with visit.store.autocommit() as connection:
        decision_id = await decided_event(connection, user_id, event_id)
        row = None if decision_id is None else await get_decision(connection, decision_id)
    snapshot = Snapshot()
    if row is not None:
        snapshot = Snapshot.from_json(row["snapshot_json"])
        await visit.log(LoggedAction.READ, user_id=user_id, decision_id=decision_id)
    return WatchedMessage(
        event_id=event_id,
        place=place,
        waits_s=max(0.0, visit.now.timestamp() - int(entry_id.partition("-")[0]) / 1000),
        row=row,
        stages=snapshot.stages,
        cover=() if row is None else cover_reason(visit.person.covered, row, snapshot),
    )


async def _place(visit: Visit, user_id: str, event_id: str, entry_id: str) -> EventPlace:
    if (events := visit.site.first_run.events) is None:
        return EventPlace.UNKNOWN
    return await run_in_threadpool(events.place, entry_id, user_id, event_id)


async def _page(visit: Visit, user_id: str, watched: WatchedMessage | None = None) -> Response:
    return visit.render(
        "first_run/message.html",
        account=user_id,
        tab="",
        watched=watched,
        possible=visit.site.first_run.events is not None,
        settings=await accounts.current_account(visit.store.pool, user_id),
        most=TEXT_CHARS,
    )
