"""Appeals as JSON: intake, links for authors, lists and outcomes, by the functions of the pages."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field
from starlette.responses import Response

from compliance.appeals import entering, pages
from compliance.appeals.pages import BLIND
from compliance.appeals.records import (
    TEXT_CHARS,
    Appeal,
    AppealOutcome,
    AppealRefused,
    AppealSource,
    AppealState,
    RefusalCode,
)
from db.access_log import LoggedAction
from db.reviews.remedies import RemedyImpossible
from db.reviews.rulings import ReviewRejected, RulingReason
from db.reviews.submission import StaleReview
from review.access import Right
from review.api.body import json_answer, read_body, rejected
from review.api.change_shapes import STRICT
from review.api.decisions import read_place
from review.http.visit import Refused, Visit
from review.typed.kinds import FILLED, OneOf

AppealText: TypeAlias = Annotated[str, Field(pattern=FILLED, max_length=TEXT_CHARS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAppealBody:
    """An appeal in the author's words, 1 to 4000 characters."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    text: AppealText


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOutcomeBody:
    """An outcome: ``upheld`` or ``restored``, with the reasons that the author gets.

    ``reason`` is required with ``restored``: a code that fits the decision, as for a review.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    outcome: AppealOutcome
    statement: AppealText
    reason: Annotated[str, OneOf(("", *RulingReason))] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealBody(Appeal):
    """An appeal. Until ``settled_at`` its outcome can be undone and was not reported."""

    state: AppealState = field()
    overdue: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealsBody:
    """A page of appeals; ``next`` is the cursor of the next page, or null."""

    appeals: tuple[AppealBody, ...]
    next: UUID | None


async def take(visit: Visit) -> Response:
    """Store an appeal: 201, or 200 for the same text against the same decision again."""
    decision = await entering.load_decision(visit, Right.PUBLISH)
    body = await read_body(visit, NewAppealBody)
    try:
        taken = await entering.take(visit, decision.decision_id, AppealSource.API, body.text)
    except AppealRefused as refused:
        raise _refusal(refused) from refused
    return json_answer(_shape(visit, taken.appeal), status=201 if taken.new else 200)


async def make_link(visit: Visit) -> Response:
    """A signed link to appeal against the decision."""
    decision = await entering.load_decision(visit, Right.PUBLISH)
    if refused := decision.refusal(visit.now):
        raise _refusal(refused)
    link = entering.link_of(visit, decision)
    if link is None:
        raise Refused(409, "Links are off", "Set HUSHGATE_APPEAL_SECRET on the review server.")
    detail = {"link": True, "api": True}
    await visit.log(
        LoggedAction.APPEAL, user_id=decision.user_id, decision_id=decision.decision_id, detail=detail
    )
    return json_answer(asdict(link), status=201)


async def list_appeals(visit: Visit) -> Response:
    """``{"appeals": [...], "next": cursor}``; parameters are account, state, cursor and limit."""
    place = read_place(visit, Right.REVIEW)
    state = AppealState(visit.query["state"])
    async with visit.store.reading() as connection:
        found = await pages.shown_appeals(
            visit, connection, place.accounts, state, limit=place.limit, after=place.after
        )
    await visit.log(LoggedAction.LIST, user_id=place.account, detail={"appeals": len(found), "api": True})
    return json_answer(
        {
            "appeals": [_shape(visit, each) for each in found],
            "next": found[-1].id if len(found) == place.limit else None,
        }
    )


async def get_appeal(visit: Visit) -> Response:
    """One appeal."""
    appeal = await pages.load_visible(visit)
    async with visit.store.reading() as connection:
        hidden = await pages.hidden_from(visit, connection, appeal)
    if hidden:
        raise BLIND
    await visit.log(
        LoggedAction.READ,
        user_id=appeal.user_id,
        decision_id=appeal.decision_id,
        detail={"appeal": str(appeal.id), "api": True},
    )
    return json_answer(_shape(visit, appeal))


async def decide(visit: Visit) -> Response:
    """Store the outcome of an appeal; 409 names why the person may not, or what changed."""
    appeal = await pages.load_visible(visit)
    body = await read_body(visit, NewOutcomeBody)
    try:
        decided = await pages.store_outcome(
            visit, appeal, body.outcome, body.statement, body.reason, api=True
        )
    except AppealRefused as refused:
        raise _refusal(refused) from refused
    except (StaleReview, RemedyImpossible) as changed:
        raise Refused(409, "Changed meanwhile", str(changed)) from changed
    except ReviewRejected as error:
        raise rejected(str(error)) from error
    return json_answer(_shape(visit, decided))


def _refusal(refused: AppealRefused) -> Refused:
    """The refusal, with the code as its title: programs compare it."""
    if refused.code is RefusalCode.UNUSABLE_TEXT:
        return rejected(str(refused))
    return Refused(409, refused.code.value, f"{refused}.")


def _shape(visit: Visit, appeal: Appeal) -> dict[str, Any]:
    return asdict(appeal) | {"state": appeal.state, "overdue": appeal.is_overdue(visit.now)}
