"""The outgoing event that reports the outcome of an appeal."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from compliance.appeals.records import AppealOutcome, AppealSource
from db.reviews.rulings import Effect
from tasks.outgoing import Body, Time, Uuid
from worker.webhooks.types import WebhookType


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
