"""What is kept of prompt and completion of a decision, for people who may read the access log."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers import held
from db.answers.held import NOTHING_HELD, HeldTexts
from db.audit import decision_context
from db.audit.decision_context import DecisionRow, ExchangeLine, StoredPassage
from db.connection import Connection
from db.reviews.visible_decision import VisibleDecision
from review.access import Right
from review.content_covers import cover_reason
from review.decision import page
from review.decision.grounds import ShownPassage, passages_of, passages_of_held
from review.http.visit import Visit
from worker.generation import INSTRUCTIONS
from worker.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTexts:
    """What is kept of one prompt and its completions.

    Attributes:
        about: the account's own instructions; None when their version is no longer stored.
        passages: as the model was given them, before masking.
        completion: of the reply, with its citation numbers; None when there was no reply.
        held: texts that were not sent; for reviewers of the account only.
        stopped: the draft that a guard stopped; likewise.
        withheld: there are texts that this person may not read, or not before their review.
    """

    about: str | None
    passages: tuple[ShownPassage, ...]
    completion: str | None
    held: HeldTexts
    stopped: str | None
    withheld: bool


async def show_prompt(visit: Visit) -> Response:
    """The page; covered texts are shown with ``?show=1``, and each reading is logged."""
    decision = await page.load_decision(visit)
    row, snapshot = decision.row, decision.snapshot
    visit.require(Right.AUDIT, row["user_id"])
    cover = cover_reason(visit.person.covered, row, snapshot)
    shown = not cover or visit.request.query_params.get("show") == "1"
    kept = await _load_kept(visit, decision) if shown else None
    action = LoggedAction.REVEAL if cover and shown else LoggedAction.READ
    detail = {"prompt": shown, "drafts": len(kept.held.texts) if kept else 0}
    await visit.log(action, user_id=row["user_id"], decision_id=row["id"], detail=detail)
    return visit.render(
        "decision/prompt.html", row=row, snapshot=snapshot, cover=cover, kept=kept, instructions=INSTRUCTIONS
    )


async def _load_kept(visit: Visit, decision: VisibleDecision) -> KeptTexts:
    row, snapshot = decision.row, decision.snapshot
    async with visit.store.reading() as connection:
        stored = await _stored_passages(connection, row, snapshot)
        about = await decision_context.account_instructions(
            connection, row["user_id"], snapshot.rules_version
        )
        sealed = (await decision_context.load_lines(connection, row, visit.now)).sealed
        texts = await held.load_held(connection, row["id"], visit.now)
    may_read = visit.may(Right.REVIEW, row["user_id"]) and not decision.blind
    stopped = _stopped(row, sealed.lines)
    first = texts.texts[0] if may_read and texts.texts and texts.texts[0].passages else None
    return KeptTexts(
        about=about,
        passages=passages_of_held(first, stored) if first else passages_of(snapshot, stored),
        completion=row["reply_draft"] or row["reply_text"],
        held=texts if may_read else NOTHING_HELD,
        stopped=stopped if may_read else None,
        withheld=not may_read and bool(texts.count or stopped is not None),
    )


async def _stored_passages(
    connection: Connection, row: DecisionRow, snapshot: Snapshot
) -> dict[str, StoredPassage]:
    ids = [each.passage_id for each in snapshot.passages]
    return await decision_context.load_passages(connection, row["user_id"], ids)


def _stopped(row: DecisionRow, lines: tuple[ExchangeLine, ...]) -> str | None:
    """The sealed draft of a decision whose reply a guard stopped."""
    if not row["reason_code"].startswith("REPLY_"):
        return None
    return next((line.text for line in reversed(lines) if line.role == "assistant"), None)
