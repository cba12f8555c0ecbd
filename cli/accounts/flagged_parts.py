"""``hushgate documents flagged``, ``release`` and ``screen``: parts of documents that failed a check."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from cli.accounts.document_access import UserIdOption, with_documents
from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import emit, fail
from db.access_log import LogEntry, LoggedAction
from db.documents import flagged_chunks
from db.pool import Pool

FLAGGED: Final = ["document_id", "part", "checks", "released_at", "released_by", "source", "title", "text"]

DocumentArgument = Annotated[
    int, typer.Argument(metavar="ID", help="Id, as `hushgate documents list` prints it.")
]


def list_flagged(account: UserIdOption = None) -> None:
    """Print the parts that failed a check at upload; without `released_at` they are not used for replies.

    For example:

        hushgate documents flagged --account corner-shop
    """
    emit(with_documents(account, flagged_chunks.list_flagged), FLAGGED)


def release(
    document: DocumentArgument,
    parts: Annotated[
        list[int] | None, typer.Argument(metavar="PART...", help="Numbers of parts; default: all.")
    ] = None,
    account: UserIdOption = None,
    undo: Annotated[bool, typer.Option("--undo", help="Hold the parts back again.")] = False,
) -> None:
    """Use flagged parts for replies from now on; exit code 1 when there was nothing to change.

    A released part is left out again when it fails another check than the ones released. For example:

        hushgate documents release 12 3 --account corner-shop
    """

    async def change(source: Pool, user_id: str) -> tuple[int, ...]:
        def logged(changed: tuple[int, ...]) -> LogEntry:
            outcome = "held_back" if undo else "released"
            detail = {"outcome": outcome, "document_id": document, "parts": changed[:100]}
            return LogEntry(action=LoggedAction.DOCUMENTS, person=who(), user_id=user_id, detail=detail)

        place = (source, user_id, document, parts)
        if undo:
            return await flagged_chunks.hold_back_chunks(*place, logged=logged)
        return await flagged_chunks.release_chunks(*place, person=who(), logged=logged)

    changed = with_documents(account, change)
    emit(
        [{"document_id": document, "part": part, "released": not undo} for part in changed],
        ["document_id", "part", "released"],
    )
    if not changed:
        raise fail(f"document {document} has no such part to change", code=ExitCode.NEGATIVE)


def screen(account: UserIdOption = None) -> None:
    """Check all parts again, after a change of rules or settings or an upgrade; releases stay.

    For example:

        hushgate documents screen --account corner-shop
    """
    seen, changed = with_documents(account, flagged_chunks.screen_chunks)
    emit([{"parts": seen, "changed": changed}], ["parts", "changed"])
