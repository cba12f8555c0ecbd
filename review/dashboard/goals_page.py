"""Forms of leads on the dashboard: goals, and notes on incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.figures import goals, notes
from db.figures.goals import FigureGoal, GoalMeasure
from db.people.records import EVERY_ACCOUNT
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.moments import moment
from review.typed.numbers import typed_share
from review.typed.problems import length_problem

LONGEST_MIN: Final = 10_080
"""A week."""
PARAMETERS: Final = ("range", "since", "until", "against", "account", "scope", "measure")


async def save_goal(visit: Visit) -> Response:
    """Set the goal of a measure; an empty share removes it."""
    account = _account(visit)
    if visit.field("measure") not in list(GoalMeasure):
        raise _unusable(_("Choose one of the shares of the dashboard."))
    measure = GoalMeasure(visit.field("measure"))
    share = visit.field("share").strip()
    async with visit.store.writing() as connection:
        if share:
            await goals.set_goal(connection, _goal(visit, account, measure, share))
        else:
            await goals.remove_goal(connection, account, measure)
        detail = {"goal": measure.value, "percent": share or None}
        await visit.log(LoggedAction.FIGURES, user_id=account or None, detail=detail, connection=connection)
    return _back(visit)


async def add_note(visit: Visit) -> Response:
    """Mark an incident or another event on the plots."""
    account, text = _account(visit), visit.field("text").strip()
    if not 1 <= len(text) <= notes.NOTE_CHARS or "\0" in text:
        raise _unusable(length_problem(notes.NOTE_CHARS))
    at = _time(visit)
    async with visit.store.writing() as connection:
        note = await notes.add_note(connection, account, at=at, text=text, person=visit.person.login)
        detail = {"note": note}
        await visit.log(LoggedAction.FIGURES, user_id=account or None, detail=detail, connection=connection)
    return _back(visit)


async def remove_note(visit: Visit) -> Response:
    """Remove a note of an account that the person leads."""
    note = int(visit.request.path_params["note"])
    async with visit.store.writing() as connection:
        account = await notes.note_account(connection, note) if note < 2**63 else None
        if account is None:
            raise Refused(404, _("Not found"), _("There is nothing here, or you may not see it."))
        visit.require(Right.LEAD, account or EVERY_ACCOUNT)
        await notes.remove_note(connection, note)
        detail = {"note_removed": note}
        await visit.log(LoggedAction.FIGURES, user_id=account or None, detail=detail, connection=connection)
    return _back(visit)


def _account(visit: Visit) -> str:
    """The account of the form, which the person leads; empty: all accounts."""
    account = visit.field("account").strip()
    if not account and visit.accounts(Right.LEAD) is not None:
        raise _unusable(_("Choose an account that you lead."))
    visit.require(Right.LEAD, account or EVERY_ACCOUNT)
    return account


def _goal(visit: Visit, account: str, measure: GoalMeasure, percent: str) -> FigureGoal:
    within = visit.field("within_min").strip() if measure is GoalMeasure.ANSWERED_IN_TIME else ""
    if measure is GoalMeasure.ANSWERED_IN_TIME and not _is_whole(within):
        raise _unusable(
            _("Write the minutes until an answer is late: 1 to %(most)s.") % {"most": LONGEST_MIN}
        )
    return FigureGoal(
        user_id=account,
        measure=measure,
        share=_share(percent),
        within_min=int(within) if within else None,
        set_by=visit.person.login,
    )


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= LONGEST_MIN


def _share(percent: str) -> float:
    try:
        return typed_share(percent)
    except ValueError as error:
        raise _unusable(str(error)) from error


def _time(visit: Visit) -> datetime:
    """The time of a note, now where none is written."""
    text = visit.field("at").strip()
    problem = _unusable(_("Write a time in the past, UTC, such as 2026-11-21T10:00."))
    try:
        at = moment(text, visit.now) if text else visit.now
    except ValueError as error:
        raise problem from error
    if at > visit.now:
        raise problem
    return at


def _unusable(text: str) -> Refused:
    return Refused(422, _("This cannot be saved"), text)


def _back(visit: Visit) -> Response:
    """The dashboard that the form came from, counted again."""
    visit.site.reused_figures.forget()
    found: dict[str, str] = dict(parse_qsl(visit.field("query")[:2000]))
    return visit.redirect(
        "dashboard", urlencode({str(name): found[name] for name in PARAMETERS if name in found})
    )
