"""A decision as it was made, for who decides the appeal: settings, findings and sealed text of then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from db.audit import decision_context, settings_snapshot
from db.audit.settings_snapshot import SettingsVersion
from db.connection import Connection
from db.reviews import queue_items, rulings
from db.reviews.rulings import Review
from review.access import Right
from review.decision.view import DecisionRecord, DecisionView, build_view
from review.http.visit import Visit
from worker.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAsMade:
    """What the page of an appeal shows of its decision.

    Attributes:
        settings: the version of the account's settings that the decision used; None when it is not stored.
        hidden: the person reads the decision blind in a queue.
    """

    record: DecisionRecord
    view: DecisionView
    settings: SettingsVersion | None
    reviews: tuple[Review, ...]
    hidden: bool


async def load_as_made(
    visit: Visit, connection: Connection, decision_id: UUID, *, revealed: bool
) -> DecisionAsMade | None:
    """The decision; None when it is no longer stored."""
    row = await decision_context.get_decision(connection, decision_id)
    if row is None:
        return None
    snapshot, user_id = Snapshot.from_json(row["snapshot_json"]), row["user_id"]
    stored = await settings_snapshot.load_settings_snapshot(
        connection, user_id, snapshot.rules_version, row["matched_rule"]
    )
    hidden = await queue_items.hidden_decisions(connection, visit.person.person_id)
    record = DecisionRecord(
        row=row,
        snapshot=snapshot,
        conversation=await decision_context.load_conversation(connection, row),
        sealed=await decision_context.load_sealed_texts(connection, decision_id, visit.now),
        retractions=(),
        settings=replace(stored, now=None),
        passages={},
        covered_categories=visit.person.covered,
        may_read_sealed=visit.may(Right.REVIEW, user_id),
        hidden_decisions=hidden,
        revealed=revealed,
    )
    return DecisionAsMade(
        record=record,
        view=build_view(record),
        settings=stored.used,
        reviews=await rulings.list_reviews(connection, decision_id),
        hidden=decision_id in hidden,
    )
