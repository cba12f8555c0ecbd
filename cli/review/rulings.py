"""``hushgate decisions review``: rulings on decisions, from the command line or standard input."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

import orjson
import typer

from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import emit, fail, print_message
from cli.review.store import with_store
from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.connection import Connection
from db.review_store import Store
from db.reviews import exchanges, rulings, submission, withdrawal
from db.reviews.rulings import (
    RULING_REASONS,
    RULINGS,
    Remedy,
    Review,
    Reviewer,
    ReviewRejected,
    ReviewSource,
    Ruling,
    RulingReason,
)
from db.reviews.submission import Submission
from worker.model import DecisionKind
from worker.payload import no_json

SHOWN_ERRORS: Final = 20
CODES: Final = ", ".join(RULING_REASONS)
COLUMNS: Final = ("id", "ruling", "effect", "review", "error")

Word = TypeVar("Word", bound=StrEnum)
Value = TypeVar("Value")


class BadReviewLine(Exception):
    """A line is not a valid review."""


def review(
    decision_id: Annotated[
        str, typer.Argument(help="Id of a decision, or - to read NDJSON from standard input.")
    ],
    ruling: Annotated[
        Literal["agree", "overturn", "unsure"] | None,
        typer.Option(case_sensitive=False, help="agree, overturn or unsure."),
    ] = None,
    reason: Annotated[str, typer.Option(help=f"Needed to overturn: {CODES}.")] = "",
    note: Annotated[str, typer.Option(help="For colleagues, at most 4000 characters.")] = "",
    corrected: Annotated[
        DecisionKind | None,
        typer.Option(
            case_sensitive=False, help="With overturn: what was right, unless the reason implies it."
        ),
    ] = None,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Restore the sealed exchange to the history; a draft that was never sent stays sealed.",
        ),
    ] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Seal the exchange; cancel the reply or ask the channel to delete it."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Withdraw your own review within 60 s, with its effect.")
    ] = False,
) -> None:
    """Review a decision: append a ruling under your login. The decision itself does not change.

    With - every line of standard input is a JSON object with id and any of ruling, reason, note, corrected
    and remedy (restore or remove); missing fields come from the options. All lines are checked before
    anything is stored; then each review is stored in its own transaction. Exit code 0 when all were stored, 1
    when some were not, 5 when a line was invalid and nothing was stored. Examples:

        hushgate decisions review ID --ruling overturn --reason RULE_TOO_BROAD --restore --note '...'

        hushgate decisions list --review open --json id | hushgate decisions review - --ruling agree
    """
    if restore and remove:
        raise fail("--restore, --remove: expected one of them, got both")
    shared: dict[str, Any] = {
        "ruling": ruling or "",
        "reason": reason,
        "note": note,
        "corrected": corrected.value if corrected else "",
        "remedy": Remedy.RESTORE if restore else Remedy.REMOVE if remove else "",
    }
    piped = decision_id == "-"
    requests = _from_pipe(shared) if piped else [{**shared, "id": decision_id}]
    refusal = ExitCode.REJECTED if piped else ExitCode.USAGE
    if undo:
        ids = _checked(requests, _id, refusal)
        rows = with_store(lambda store: _each(store, ids, _withdraw))
    else:
        lines = _checked(requests, _line, refusal)
        rows = with_store(lambda store: _each(store, lines, _store))
    emit(rows, [name for name in COLUMNS if any(row.get(name) for row in rows)])
    if failed := sum(1 for row in rows if "error" in row):
        print_message(f"{failed} of {len(rows)} not done")
        raise typer.Exit(ExitCode.NEGATIVE)


def _from_pipe(shared: dict[str, Any]) -> list[dict[str, Any]]:
    """One dictionary per line without blank lines; an invalid line is kept for the check to refuse."""
    rows = []
    for raw in sys.stdin.buffer.read().splitlines():
        if not raw.strip():
            continue
        try:
            found = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            found = {"not json": no_json(error)}
        rows.append({**shared, **found} if isinstance(found, dict) else {"not json": "not an object"})
    if not rows:
        raise fail("standard input: expected one JSON object per line, got nothing", code=ExitCode.REJECTED)
    return rows


def _checked(
    requests: Sequence[dict[str, Any]], read: Callable[[dict[str, Any]], Value], refusal: ExitCode
) -> list[Value]:
    """Every line parsed; with an invalid line the command ends with ``refusal`` and stores nothing."""
    good, bad = [], []
    for number, row in enumerate(requests, 1):
        try:
            good.append(read(row))
        except BadReviewLine as error:
            bad.append(f"line {number}: {error}" if len(requests) > 1 else str(error))
    for problem in bad[:SHOWN_ERRORS]:
        print_message(problem)
    if bad:
        raise fail(f"nothing was stored: {len(bad)} of {len(requests)} are not valid reviews", code=refusal)
    return good


def _id(row: dict[str, Any]) -> UUID:
    if "not json" in row:
        raise BadReviewLine(f"expected one JSON object, got {row['not json']}")
    try:
        return UUID(str(row.get("id", "")))
    except ValueError as error:
        raise BadReviewLine(f"id: expected the id of a decision, got {row.get('id')!r}") from error


def _line(row: dict[str, Any]) -> Submission:
    decision_id = _id(row)
    ruling = _word(RULINGS, "ruling", row["ruling"])
    if ruling is None:
        raise BadReviewLine(f"ruling: expected {', '.join(RULINGS)}, got nothing")
    reason = _word(RulingReason, "reason", str(row["reason"] or "").upper())
    if ruling is Ruling.OVERTURN and reason is None:
        raise BadReviewLine(f"reason: expected one of {CODES}, which an overturn requires; got nothing")
    if not isinstance(row["note"], str):
        raise BadReviewLine(f"note: expected text, got {row['note']!r}")
    return Submission(
        decision_id=decision_id,
        reviewer=_me(),
        ruling=ruling,
        reason=reason,
        note=row["note"],
        corrected=_word(DecisionKind, "corrected", row["corrected"]),
        remedy=_word(Remedy, "remedy", row["remedy"]) or Remedy.NONE,
        source=ReviewSource.CLI,
    )


def _word(choices: Iterable[Word], name: str, text: object) -> Word | None:
    """The choice that a field names; None for an empty field."""
    if text is None or text == "":  # a list is no text, and has no hash
        return None
    words = {each.value: each for each in choices}
    if not isinstance(text, str) or text not in words:
        raise BadReviewLine(f"{name}: expected {', '.join(words)}, got {text!r}")
    return words[text]


async def _each(
    store: Store,
    requests: Sequence[Value],
    act: Callable[[Connection, Value], Awaitable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Store each ruling in its own transaction; a row holds the result or the error."""
    rows = []
    for each in requests:
        decision_id = each.decision_id if isinstance(each, Submission) else each
        try:
            async with store.writing() as connection:
                result = await act(connection, each)
        except ReviewRejected as rejected:
            result = {"error": str(rejected)}
        rows.append({"id": str(decision_id), **result})
    return rows


async def _store(connection: Connection, line: Submission) -> dict[str, Any]:
    request = replace(
        line,
        remedy=await _remedy(connection, line),
        seen=await rulings.last_seen_review(connection, line.decision_id),
    )
    stored = (await submission.submit_review(connection, request, datetime.now(UTC))).review
    return await _logged(connection, LoggedAction.REVIEW, stored)


async def _remedy(connection: Connection, line: Submission) -> Remedy:
    """The remedy to apply; ``restore`` leaves a draft that was never sent sealed."""
    if line.remedy is not Remedy.RESTORE:
        return line.remedy
    proposed = await exchanges.proposed_remedy(connection, line.decision_id, line.ruling, datetime.now(UTC))
    return line.remedy if proposed is Remedy.NONE else proposed


async def _withdraw(connection: Connection, decision_id: UUID) -> dict[str, Any]:
    reviews = rulings.standing_reviews(await rulings.list_reviews(connection, decision_id))
    mine = next((each for each in reviews if each.is_by(_me())), None)
    if mine is None:
        raise ReviewRejected(f"undo: expected a review of {who()} that stands, got none")
    back = await withdrawal.withdraw_review(connection, mine.id, _me(), datetime.now(UTC))
    return await _logged(connection, LoggedAction.UNDO, back)


def _me() -> Reviewer:
    return Reviewer(person_id=None, login=who())


async def _logged(connection: Connection, action: LoggedAction, stored: Review) -> dict[str, Any]:
    """The printed row of a review, after its entry in the access log."""
    entry = LogEntry(
        action=action,
        person=who(),
        user_id=stored.user_id,
        decision_id=stored.decision_id,
        detail={"ruling": stored.ruling, "effect": stored.effect, "source": stored.source},
    )
    await access_log.append_entry(connection, entry)
    return {"ruling": stored.ruling, "effect": stored.effect, "review": str(stored.id)}
