"""The page of an author or a conversation: history, figures, notes and tags."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit import subject_figures
from db.audit.cursor import CursorRejected
from db.audit.subject_figures import MOST_COUNTED
from db.collaboration import subjects
from db.collaboration.subjects import MOST_TAGS, NOTE_CHARS, TAG_CHARS, Subject, SubjectKind
from db.connection import Connection
from review.accounts.stored_versions import account_of_path
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.panels import load_panels
from review.subjects.records import load_subject
from review.typed.problems import button_problem, length_problem
from worker.payload import is_id

DONE: Final = frozenset({"note", "tag", "untag"})
"""The forms of the page."""
REFERENCE: Final = {SubjectKind.AUTHOR: "author_ref", SubjectKind.CONVERSATION: "conversation_ref"}
"""Parameters of the paths."""


async def show_author(visit: Visit) -> Response:
    """An author of the account."""
    return await _show(visit, _subject(visit, SubjectKind.AUTHOR))


async def show_conversation(visit: Visit) -> Response:
    """A conversation of the account."""
    return await _show(visit, _subject(visit, SubjectKind.CONVERSATION))


async def change_author(visit: Visit) -> Response:
    """Add a note, or add or remove a tag, of an author."""
    return await _change(visit, _subject(visit, SubjectKind.AUTHOR))


async def change_conversation(visit: Visit) -> Response:
    """Add a note, or add or remove a tag, of a conversation."""
    return await _change(visit, _subject(visit, SubjectKind.CONVERSATION))


def subject_address(visit: Visit, subject: Subject) -> str:
    """The path of its page."""
    return visit.url(subject.kind.value, **{"account": subject.user_id, REFERENCE[subject.kind]: subject.id})


def _subject(visit: Visit, kind: SubjectKind) -> Subject:
    found = str(visit.request.path_params[REFERENCE[kind]])
    if not is_id(found):
        raise _unknown(kind)
    return Subject(user_id=account_of_path(visit), kind=kind, id=found)


def _unknown(kind: SubjectKind) -> Refused:
    if kind is SubjectKind.AUTHOR:
        text = _("No message of this author is stored. An erased author is not known any more.")
        return Refused(404, _("Unknown author"), text)
    text = _("No message of this conversation is stored. An erased conversation is not known any more.")
    return Refused(404, _("Unknown conversation"), text)


async def _show(visit: Visit, subject: Subject) -> Response:
    cursor = visit.request.query_params.get("cursor") or None
    try:
        record = await load_subject(visit, subject, cursor)
    except CursorRejected as error:
        raise Refused(400, _("That page cannot be opened"), str(error)) from error
    if record is None:
        raise _unknown(subject.kind)
    detail = {subject.kind.value: subject.id, "rows": len(record.history.page.rows)}
    await visit.log(LoggedAction.LIST, user_id=subject.user_id, detail=detail)
    listed = {"account": subject.user_id, subject.kind.value: subject.id, "since": "all"}
    return visit.render(
        "subjects/page.html",
        subject=subject,
        record=record,
        panels=await load_panels("subject", visit, subject),
        address=subject_address(visit, subject),
        listed=urlencode(listed),
        most_counted=MOST_COUNTED,
        note_chars=NOTE_CHARS,
        tag_chars=TAG_CHARS,
        done=visit.request.query_params.get("done", ""),
    )


async def _change(visit: Visit, subject: Subject) -> Response:
    form = visit.field("form")
    if form not in DONE:
        raise Refused(400, _("Which form?"), button_problem())
    async with visit.store.writing() as connection:
        if not await subject_figures.is_known_subject(connection, subject):
            raise _unknown(subject.kind)
        if form == "note":
            await _add_note(visit, connection, subject)
        else:
            await _change_tag(visit, connection, subject, add=form == "tag")
    here = {"account": subject.user_id, REFERENCE[subject.kind]: subject.id}
    return visit.redirect(subject.kind.value, f"done={form}", **here)


async def _add_note(visit: Visit, connection: Connection, subject: Subject) -> None:
    text = _typed(visit, "note", NOTE_CHARS)
    await subjects.add_note(connection, subject, text, person=visit.person.login, now=visit.now)
    await _log(visit, connection, subject, "note added")


async def _change_tag(visit: Visit, connection: Connection, subject: Subject, *, add: bool) -> None:
    tag = " ".join(_typed(visit, "tag", TAG_CHARS).split())
    if not tag.isprintable():
        raise Refused(422, _("Tag"), length_problem(TAG_CHARS))
    if not add:
        if await subjects.remove_tag(connection, subject, tag):
            await _log(visit, connection, subject, "tag removed")
        return
    if len(await subjects.list_tags(connection, subject)) >= MOST_TAGS:
        text = _("There are %(most)s tags already. Remove one first.") % {"most": MOST_TAGS}
        raise Refused(409, _("Too many tags"), text)
    if await subjects.add_tag(connection, subject, tag, person=visit.person.login, now=visit.now):
        await _log(visit, connection, subject, "tag added")


def _typed(visit: Visit, field: str, most: int) -> str:
    text = visit.field(field).strip()
    if not 0 < len(text) <= most:
        raise Refused(422, _("Not stored"), length_problem(most))
    return text


async def _log(visit: Visit, connection: Connection, subject: Subject, change: str) -> None:
    detail = {subject.kind.value: subject.id, "change": change}
    await visit.log(LoggedAction.NOTE, user_id=subject.user_id, detail=detail, connection=connection)
