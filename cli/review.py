"""``hushgate decisions review``: a verdict on decisions, from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import orjson
import typer
from sqlalchemy.ext.asyncio import AsyncConnection

from cli.output import complain, emit, fail
from cli.review_settings import who, with_store
from db import access_log, exchanges, reviewing, reviews
from db.access_log import Action, Entry
from db.review_store import Store
from db.reviewing import Submission
from db.reviews import CAUSES, Cause, Remedy, Review, Reviewer, ReviewRejected, Ruling, Source
from worker.model import Verdict

SHOWN_ERRORS: Final = 20
CODES: Final = ", ".join(CAUSES)
COLUMNS: Final = ("id", "verdict", "effect", "review", "error")

Word = TypeVar("Word", bound=StrEnum)
Value = TypeVar("Value")


class Answer(StrEnum):
    """What a person may say."""

    AGREE = "agree"
    OVERTURN = "overturn"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One review as it was asked for."""

    decision_id: UUID
    ruling: Ruling
    cause: Cause | None
    note: str
    corrected: Verdict | None
    remedy: Remedy


class BadLine(Exception):  # noqa: N818  # shown with its number
    """A line is no review."""


def review(
    decision_id: Annotated[
        str, typer.Argument(help="Id of a decision, or - to read NDJSON from standard input.")
    ],
    verdict: Annotated[
        Answer | None, typer.Option(case_sensitive=False, help="agree, overturn or unsure.")
    ] = None,
    reason: Annotated[str, typer.Option(help=f"Needed to overturn: {CODES}.")] = "",
    note: Annotated[str, typer.Option(help="For colleagues, at most 4000 characters.")] = "",
    corrected: Annotated[
        Verdict | None,
        typer.Option(case_sensitive=False, help="With overturn: what should have been decided."),
    ] = None,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Put the sealed exchange back into the history; a draft that was never sent stays sealed.",
        ),
    ] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Seal the exchange, and hold the reply back or have it deleted."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take your own review back, within 60 s, with what it did.")
    ] = False,
) -> None:
    """Say what you think of a decision, however old: a review is appended under your login, the audit stays.

    With - every line of standard input is one object with id and any of verdict, reason, note, corrected and
    remedy (restore or remove); what a line leaves out comes from the options. Every line is checked before
    anything is stored; then each is stored by itself. Exit 0 when all were stored, 1 when some were not,
    2 when nothing was. Examples:

        hushgate decisions review ID --verdict overturn --reason RULE_TOO_BROAD --restore --note '...'

        hushgate decisions list --review open --json id | hushgate decisions review - --verdict agree
    """
    if restore and remove:
        raise fail("--restore, --remove: expected one of them, got both")
    shared: dict[str, Any] = {
        "verdict": verdict.value if verdict else "",
        "reason": reason,
        "note": note,
        "corrected": corrected.value if corrected else "",
        "remedy": Remedy.RESTORE if restore else Remedy.REMOVE if remove else "",
    }
    asked = _from_pipe(shared) if decision_id == "-" else [{**shared, "id": decision_id}]
    if undo:
        ids = _checked(asked, _id)
        rows = with_store(lambda store: _each(store, ids, _take_back))
    else:
        lines = _checked(asked, _line)
        rows = with_store(lambda store: _each(store, lines, _store))
    emit(rows, [name for name in COLUMNS if any(row.get(name) for row in rows)])
    if failed := sum(1 for row in rows if "error" in row):
        complain(f"{failed} of {len(rows)} not done")
        raise typer.Exit(1)


def _from_pipe(shared: dict[str, Any]) -> list[dict[str, Any]]:
    """One dictionary a line, blank lines left out; a line that is none is kept for the check to refuse."""
    rows = []
    for raw in sys.stdin.buffer.read().splitlines():
        if not raw.strip():
            continue
        try:
            found = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            found = {"not json": str(error)}
        rows.append({**shared, **found} if isinstance(found, dict) else {"not json": "not an object"})
    if not rows:
        raise fail("standard input: expected one JSON object a line, got nothing")
    return rows


def _checked(asked: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], Value]) -> list[Value]:
    """Every line read; with one bad line nothing is done."""
    good, bad = [], []
    for number, row in enumerate(asked, 1):
        try:
            good.append(read(row))
        except BadLine as error:
            bad.append(f"line {number}: {error}" if len(asked) > 1 else str(error))
    for problem in bad[:SHOWN_ERRORS]:
        complain(problem)
    if bad:
        raise fail(f"nothing was stored: {len(bad)} of {len(asked)} are no reviews")
    return good


def _id(row: dict[str, Any]) -> UUID:
    if "not json" in row:
        raise BadLine(f"expected one JSON object, got {row['not json']}")
    try:
        return UUID(str(row.get("id", "")))
    except ValueError as error:
        raise BadLine(f"id: expected the id of a decision, got {row.get('id')!r}") from error


def _line(row: dict[str, Any]) -> Line:
    decision_id = _id(row)
    ruling = _word(Answer, "verdict", row["verdict"])
    if ruling is None:
        raise BadLine(f"verdict: expected {', '.join(Answer)}, got nothing")
    cause = _word(Cause, "reason", str(row["reason"] or "").upper())
    if ruling is Answer.OVERTURN and cause is None:
        raise BadLine(f"reason: expected one of {CODES}, as an overturn needs it; got nothing")
    if not isinstance(row["note"], str):
        raise BadLine(f"note: expected text, got {row['note']!r}")
    return Line(
        decision_id=decision_id,
        ruling=Ruling(ruling.value),
        cause=cause,
        note=row["note"],
        corrected=_word(Verdict, "corrected", row["corrected"]),
        remedy=_word(Remedy, "remedy", row["remedy"]) or Remedy.NONE,
    )


def _word(kind: type[Word], name: str, text: object) -> Word | None:
    if text in {"", None}:
        return None
    if not isinstance(text, str) or text not in list(kind):
        raise BadLine(f"{name}: expected {', '.join(kind)}, got {text!r}")
    return kind(text)


async def _each(
    store: Store, wanted: Sequence[Value], act: Callable[[AsyncConnection, Value], Awaitable[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Each in a transaction of its own; what went wrong with one is its row."""
    rows = []
    for each in wanted:
        decision_id = each.decision_id if isinstance(each, Line) else each
        try:
            async with store.writing() as connection:
                done = await act(connection, each)
        except ReviewRejected as rejected:
            done = {"error": str(rejected)}
        rows.append({"id": str(decision_id), **done})
    return rows


async def _store(connection: AsyncConnection, line: Line) -> dict[str, Any]:
    given = Submission(
        decision_id=line.decision_id,
        reviewer=_me(),
        ruling=line.ruling,
        cause=line.cause,
        note=line.note,
        corrected=line.corrected,
        remedy=await _fitting(connection, line),
        source=Source.CLI,
        seen=await reviews.last_seen(connection, line.decision_id),
    )
    stored = (await reviewing.submit(connection, given, datetime.now(UTC))).review
    await _note(connection, Action.REVIEW, stored)
    return {"verdict": stored.verdict, "effect": stored.effect, "review": str(stored.id)}


async def _fitting(connection: AsyncConnection, line: Line) -> Remedy:
    """What ``restore`` means here: a draft that the author never read stays sealed."""
    if line.remedy is not Remedy.RESTORE:
        return line.remedy
    proposed = await exchanges.proposed(connection, line.decision_id, line.ruling, datetime.now(UTC))
    return line.remedy if proposed is Remedy.NONE else proposed


async def _take_back(connection: AsyncConnection, decision_id: UUID) -> dict[str, Any]:
    said = reviews.counted(await reviews.of_decision(connection, decision_id))
    mine = next((each for each in said if each.is_by(_me())), None)
    if mine is None:
        raise ReviewRejected(f"undo: expected a review of {who()} that stands, got none")
    back = await reviewing.withdraw(connection, mine.id, _me(), datetime.now(UTC))
    await _note(connection, Action.UNDO, back)
    return {"verdict": back.verdict, "effect": back.effect, "review": str(back.id)}


def _me() -> Reviewer:
    return Reviewer(person_id=None, login=who())


async def _note(connection: AsyncConnection, action: Action, stored: Review) -> None:
    entry = Entry(
        action=action,
        person=who(),
        user_id=stored.user_id,
        decision_id=stored.decision_id,
        detail={"verdict": stored.verdict, "effect": stored.effect, "source": stored.source},
    )
    await access_log.add(connection, entry)
