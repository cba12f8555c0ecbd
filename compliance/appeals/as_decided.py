"""A decision as it was made, for who decides the appeal: settings, findings and sealed text of then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from db.audit import decision_context, settings_snapshot
from db.audit.settings_snapshot import SettingsVersion
from db.connection import Connection, round_of_reads
from db.reviews import rulings
from db.reviews.rulings import Review
from db.reviews.visible_decision import load_visible_decision
from review.access import Right
from review.decision.view import DecisionRecord, DecisionView, build_view
from review.http.visit import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAsMade:
    """What the page of an appeal shows of its decision.

    Attributes:
        settings: the version of the account's settings that the decision used; None when it is not stored.
        blind: the person reads the decision blind in a queue.
    """

    record: DecisionRecord
    view: DecisionView
    settings: SettingsVersion | None
    reviews: tuple[Review, ...]
    blind: bool


async def load_as_made(
    visit: Visit, connection: Connection, decision_id: UUID, *, revealed: bool
) -> DecisionAsMade | None:
    """The decision as made; None when it is no longer stored."""
    decision = await load_visible_decision(connection, decision_id, visit.person.person_id)
    if decision is None:
        return None
    async with round_of_reads(connection) as reads:
        lines = reads.read(decision_context.load_lines(connection, decision.row, visit.now))
        stored = reads.read(
            settings_snapshot.settings_of_decision(connection, decision.row, decision.snapshot)
        )
        reviews = reads.read(rulings.list_reviews(connection, decision_id))
    settings = stored.result()
    record = DecisionRecord(
        row=decision.row,
        snapshot=decision.snapshot,
        history=lines.result().history,
        sealed=lines.result().sealed,
        settings=replace(settings, now=None),
        covered_categories=visit.person.covered,
        may_read_sealed=visit.may(Right.REVIEW, decision.row["user_id"]),
        revealed=revealed,
    )
    return DecisionAsMade(
        record=record,
        view=build_view(record),
        settings=settings.used,
        reviews=reviews.result(),
        blind=decision.blind,
    )
