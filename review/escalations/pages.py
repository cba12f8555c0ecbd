"""The forms that send a person's answer: under a decision, and in the list of what waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from db.access_log import LoggedAction
from db.answers.held import HeldText
from db.answers.sending import AnswerConflict, MessageGone
from db.audit.decision_context import DecisionRow
from review.access import Right
from review.answers.answerable import AnswerAction, AnswerRejected, DraftTooOld, GivenAnswer
from review.answers.checks import ModerationAway
from review.answers.sending import send_answer
from review.decision import page
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.problems import button_problem
from worker.errors import RejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlace:
    """Where a person answers: the page with the form, and where a stored answer leads."""

    template: str
    load: Callable[[Visit, LoggedAction], Awaitable[dict[str, Any]]]
    stored: Callable[[Visit, DecisionRow], Awaitable[Response]]


async def submit_answer(visit: Visit) -> Response:
    """Send a person's answer, then show the decision with it."""
    return await submit_at(visit, DECISION)


async def submit_at(visit: Visit, place: AnswerPlace) -> Response:
    """Send a person's answer from a form; refusals show the form again, with what was typed."""
    row = await page.load_row(visit)
    visit.require(Right.REVIEW, row["user_id"])
    given = None
    try:
        given = parse_answer_form(visit)
        await send_answer(visit, row, given)
    except AnswerConflict as conflict:
        return await _show_conflict(visit, conflict)
    except MessageGone as gone:
        return await _show_again(visit, place, str(gone), status=410)
    except DraftTooOld as old:
        return await _show_again(visit, place, str(old), status=409)
    except ModerationAway as away:
        return await _show_again(visit, place, str(away), status=503, given=given)
    except RejectedError as rejected:
        return await _show_again(visit, place, str(rejected), status=400)
    return await place.stored(visit, row)


async def _show_decision(visit: Visit, row: DecisionRow) -> Response:
    return visit.redirect("decision", "answered=1#answer", decision_id=row["id"])


DECISION: Final = AnswerPlace(template="decision/page.html", load=page.load_page, stored=_show_decision)


def parse_answer_form(visit: Visit) -> GivenAnswer:
    """The fields of the form.

    Raises:
        AnswerRejected: one of them is not from the page.
    """
    action = visit.field("action")
    if action not in set(AnswerAction):
        raise AnswerRejected(button_problem())
    seen = visit.field("seen")
    return GivenAnswer(
        action=AnswerAction(action),
        answer_id=parse_id("answer", visit.field("answer")),
        held_id=whole_number(visit.field("draft")),
        text=visit.field("text"),
        seen=parse_id("seen", seen) if seen else None,
        release=visit.field("release") == "on",
    )


def parse_id(name: str, text: str) -> UUID:
    """A UUID from a form.

    Raises:
        AnswerRejected: the text is none.
    """
    try:
        return UUID(text)
    except ValueError as error:
        expected = _("This form is not from the page: %(field)s is “%(got)s”. Open the page again.")
        raise AnswerRejected(expected % {"field": name, "got": text[:40]}) from error


async def _show_again(
    visit: Visit, place: AnswerPlace, problem: str, *, status: int, given: GivenAnswer | None = None
) -> Response:
    """The page with what was not sent and why; its id is kept where the outcome of the first form counts."""
    values = await place.load(visit, LoggedAction.REVEAL)
    if values["answering"].blind:
        raise Refused(status, "Not sent", problem)
    panel = replace(values["answering"], typed=visit.field("text"), problem=f"{_('Not sent.')} {problem}")
    if given is not None:
        panel = replace(panel, answer_id=given.answer_id)
    return visit.render(place.template, status=status, **(values | {"answering": panel}))


async def _show_conflict(visit: Visit, conflict: AnswerConflict) -> Response:
    """Both texts: the stored answer and the person's own, which was not sent."""
    try:
        values = await page.load_page(visit, LoggedAction.REVEAL)
    except Refused as gone:
        text = f"It was erased. Nothing was sent. Your text was:\n\n{visit.field('text')}"
        raise Refused(410, "The decision is gone", text) from gone
    mine = visit.field("text").strip() or _approved_text(visit, values["answering"].held.texts)
    return visit.render("answers/conflict.html", status=409, **values, stored=conflict.answers[-1], mine=mine)


def _approved_text(visit: Visit, texts: tuple[HeldText, ...]) -> str:
    wanted = whole_number(visit.field("draft"))
    return next((each.text for each in texts if each.held_id == wanted), "")
