"""The end of an appeal: after the undo window, one statement settles and reports its outcome as an event."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pydantic import Field

from compliance.appeals.records import AppealOutcome, AppealSource
from db.outgoing.events import INSERT_WITHOUT_STREAM
from db.pool import Pool, fetch_value
from db.reviews.rulings import UNDO_WINDOW, Effect
from tasks.sending.entry_types import Body, Time, Uuid
from worker.webhooks.types import WebhookType

REPORT: Final = INSERT_WITHOUT_STREAM.format(
    source=f"""
    SELECT user_id, conversation_id, '{WebhookType.APPEAL_DECIDED.value}', id::text,
        jsonb_build_object(
            'appeal_id', id, 'event_id', event_id, 'user_id', user_id, 'decision_id', decision_id,
            'conversation_id', conversation_id, 'message_id', message_id, 'scope', scope,
            'author_id', author_id, 'source', source, 'outcome', outcome, 'statement', statement,
            'effect', effect, 'received_at', created_at, 'decided_at', decided_at),
        %(now)s::timestamptz
    FROM settled ORDER BY decided_at, id"""
)
SETTLE: Final = f"""
    WITH settled AS (
        UPDATE appeals SET settled_at = %(now)s
        WHERE outcome IS NOT NULL AND settled_at IS NULL AND decided_at <= %(decided_by)s
        RETURNING *
    ), reported AS ({REPORT}) SELECT count(*) FROM settled
"""


class AppealDecidedEntry(Body):
    """The outcome of an appeal against a decision, sent once, when it can no longer be undone."""

    appeal_id: Uuid = Field(description="The appeal.")
    author_id: str = Field(description="Who wrote the message.")
    source: AppealSource = Field(description="How the appeal came in: `api`, `link` or `page`.")
    outcome: AppealOutcome = Field(
        description="`upheld`: the decision stands; `restored`: it was wrong, undo what followed from it."
    )
    statement: str = Field(description="The reasons, written for the author.")
    effect: Effect = Field(
        description="`restored` where the message came back into the history, else `none`."
    )
    received_at: Time = Field(description="When the appeal came in.")
    decided_at: Time = Field(description="When it was decided.")


BODIES: Final = {WebhookType.APPEAL_DECIDED: AppealDecidedEntry}


async def settle_outcomes(source: Pool, now: datetime) -> int:
    """Settle and report the outcomes that can no longer be undone; how many.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    return int(await fetch_value(source, SETTLE, {"now": now, "decided_by": now - UNDO_WINDOW}))
