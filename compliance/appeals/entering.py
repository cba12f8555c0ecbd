"""Entering an appeal on behalf of the author, from the page of a decision, and the link for the author."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import SecretStr
from starlette.responses import Response

from compliance.appeals import intake, records
from compliance.appeals.intake import AppealableDecision, NewAppeal, TakenAppeal
from compliance.appeals.links import link_expiry, signed_token
from compliance.appeals.records import TEXT_CHARS, AppealRefused, AppealSource, RefusalCode
from compliance.words import refusal_text
from db.access_log import LoggedAction
from review.access import Right
from review.decision.page import NOT_FOUND
from review.http.visit import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealLink:
    """A signed link for the author of the message, valid until ``expires_at``."""

    url: str
    expires_at: datetime


async def show_form(visit: Visit) -> Response:
    """The form and the link; where the decision has an appeal, that one."""
    decision = await load_decision(visit, Right.REVIEW)
    async with visit.store.reading() as connection:
        appeal = await records.appeal_of_decision(connection, decision.decision_id)
    if appeal is not None:
        return visit.redirect("appeal", appeal_id=appeal.id)
    return await _page(visit, decision)


async def enter(visit: Visit) -> Response:
    """Store the appeal, then show it."""
    decision = await load_decision(visit, Right.REVIEW)
    try:
        taken = await take(visit, decision.decision_id, AppealSource.PAGE, visit.field("text"))
    except AppealRefused as refused:
        status = 422 if refused.code is RefusalCode.UNUSABLE_TEXT else 409
        return await _page(visit, decision, status=status, problem=refusal_text(refused.code))
    return visit.redirect("appeal", appeal_id=taken.appeal.id)


async def take(visit: Visit, decision_id: UUID, source: AppealSource, text: str) -> TakenAppeal:
    """Store an appeal by link, or of a person or a token's owner, with its one line of the access log.

    Raises:
        AppealRefused: see ``compliance.appeals.intake.take_appeal``.
    """
    by = "" if source is AppealSource.LINK else visit.person.login
    new = NewAppeal(decision_id=decision_id, source=source, text=text, entered_by=by)
    async with visit.store.writing() as connection:
        taken = await intake.take_appeal(connection, new, visit.now)
        if taken.new:
            await visit.log(
                LoggedAction.APPEAL,
                user_id=taken.appeal.user_id,
                decision_id=decision_id,
                detail={"appeal": str(taken.appeal.id), "source": source},
                connection=connection,
            )
    return taken


async def load_decision(visit: Visit, right: Right) -> AppealableDecision:
    """The decision of the path.

    Raises:
        Refused: 404, there is none, or on an account that the person may not see; 403 without the right.
    """
    decision_id = visit.path_id("decision_id", NOT_FOUND)
    try:
        async with visit.store.reading() as connection:
            decision = await intake.appealable_decision(connection, decision_id)
    except AppealRefused as refused:
        raise NOT_FOUND from refused
    visit.require(right, decision.user_id)
    return decision


def appeal_secret(visit: Visit) -> str | None:
    """The secret that signs links; None where links are off."""
    secret: SecretStr | None = visit.site.settings.appeal_secret
    return secret.get_secret_value() if secret else None


def link_of(visit: Visit, decision: AppealableDecision) -> AppealLink | None:
    """The author's link; None where links are off, or no appeal is taken any more."""
    secret = appeal_secret(visit)
    if secret is None or decision.refusal(visit.now) is not None:
        return None
    expires_at = link_expiry(decision).replace(microsecond=0)
    token = signed_token(secret, decision.decision_id, expires_at)
    url = visit.site.settings.review_url.rstrip("/") + visit.url("appeal_link", link=token)
    return AppealLink(url=url, expires_at=expires_at)


async def _page(
    visit: Visit, decision: AppealableDecision, *, status: int = 200, problem: str = ""
) -> Response:
    refusal = decision.refusal(visit.now)
    link = link_of(visit, decision)
    detail = {"appeal_form": True, "link": link is not None}
    await visit.log(
        LoggedAction.READ, user_id=decision.user_id, decision_id=decision.decision_id, detail=detail
    )
    return visit.render(
        "appeals/enter.html",
        status=status,
        decision=decision,
        closed=refusal_text(refusal.code) if refusal else "",
        link=link,
        problem=problem,
        text=visit.field("text"),
        most=TEXT_CHARS,
    )
