"""``hushgate documents``: the documents of an account."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import TimeRemainingColumn

from cli.accounts import document_files, flagged_parts
from cli.accounts.document_access import (
    NOT_USED,
    UserIdOption,
    chosen_account,
    open_search,
    open_writing,
    with_documents,
    without_vectors,
)
from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import (
    emit,
    emit_json,
    errors,
    fail,
    print_message,
    printable,
    progress_bar,
    stdout_is_terminal,
)
from db.access_log import LogEntry, LoggedAction
from db.documents import embedding_models, ingest, model_change, storage
from db.documents.account_screening import AccountScreening
from db.documents.ingest import DocumentOptions, Ingest
from db.documents.retrieval import PostgresRetriever
from db.pool import Pool
from worker.adapters.document_process import read_note
from worker.documents.model import WARNINGS, DocumentFormat
from worker.documents.notes import note_text
from worker.errors import ConfigurationError, DocumentRejected

HELP: Final = (
    "Documents on which an account's replies are based: `add`, `list`, `show`, `remove` and `search` them;"
    " `reembed`"
    " after a change of the embedding model; `flagged`, `release` and `screen` for parts that failed a"
    " check."
)
app = typer.Typer(no_args_is_help=True, help=HELP)
app.command("flagged")(flagged_parts.list_flagged)
app.command("release")(flagged_parts.release)
app.command("screen")(flagged_parts.screen)

ADDED: Final = ["source", "outcome", "document_id", "chunks", "warnings", "flagged", "reason"]
LISTED: Final = [
    "id",
    "title",
    "source",
    "labels",
    "chunks",
    "held_back",
    "vectors",
    "created_at",
]
SHOWN: Final = ["number", "page", "title", "text", "is_held_back"]
MOST_SHOWN: Final = 100_000
MOST_NAMED: Final = 5
"""Names of skipped files that are printed."""
FOUND: Final = ["similarity", "found_by", "title", "text", "passage_id"]

LabelsOption = Annotated[
    list[str] | None,
    typer.Option("--label", "-l", metavar="KEY=VALUE", help="A label of the documents; may be repeated."),
]


def _entry(user_id: str, detail: dict[str, Any]) -> LogEntry:
    """The line of the access log for a change."""
    return LogEntry(action=LoggedAction.DOCUMENTS, person=who(), user_id=user_id, detail=detail)


@app.command()
def add(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, or - for a pipe.")],
    account: UserIdOption = None,
    title: Annotated[str, typer.Option(help="Title instead of the document's own; one file only.")] = "",
    source: Annotated[
        str,
        typer.Option(
            help="Name under which a later version replaces the file; default: the path. One file only."
        ),
    ] = "",
    kind: Annotated[
        DocumentFormat | None, typer.Option("--format", help="Format; default: by the file name's ending.")
    ] = None,
    label: LabelsOption = None,
) -> None:
    """Add PDF, DOCX, XLSX, CSV, HTML, MHTML, Markdown and text files of at most 50 MiB, or folders of them.

    What looks wrong is printed, such as pages without text and odd prices. Adding the same file again changes
    nothing; a changed file replaces its older version. Unreadable files are refused by name, the others are
    added, and the exit code is 1. For example:

        hushgate documents add handbook/ --account corner-shop --label language=en
    """
    found, skipped = _files(paths)
    if len(found) > 1 and (title or source):
        raise fail(f"--title and --source: expected one file, got {len(found)}")
    labels = _labels(label) if label is not None else None
    if skipped:
        print_message(_skipped_text(skipped), style="none")

    options = partial(DocumentOptions, title=title, source=source, kind=kind, labels=labels)
    if not asyncio.run(_add_found(account, options, found)):
        raise typer.Exit(ExitCode.NEGATIVE)


async def _add_found(
    account: str | None, options: Callable[..., DocumentOptions], found: Sequence[Path]
) -> bool:
    """Whether all files were added, each with its line of the access log."""
    async with open_writing() as (pool_, model):
        user_id = await chosen_account(pool_, account)
        if model is None:
            await _say_why_without_vectors(pool_)

        def logged(row: Mapping[str, Any]) -> LogEntry:
            return _entry(user_id, {name: row[name] for name in ("outcome", "document_id", "chunks")})

        ingest = Ingest(pool_, model, options(user_id=user_id), logged=logged)
        added = await _add_all(ingest, found)
        if ingest.failure:
            errors.print(f"no vectors until `hushgate documents reembed`: {ingest.failure}", style="yellow")
        return added


@app.command("list")
def list_documents(account: UserIdOption = None, label: LabelsOption = None) -> None:
    """Print an account's documents; with fewer vectors than chunks, run `hushgate documents reembed`.

    For example:

        hushgate documents list --account corner-shop --label language=en
    """
    labels = _labels(label)
    emit(
        with_documents(account, lambda source, user_id: storage.list_documents(source, user_id, labels)),
        LISTED,
    )


@app.command()
def show(
    document_id: Annotated[int, typer.Argument(metavar="ID", help="As `hushgate documents list` prints it.")],
    account: UserIdOption = None,
) -> None:
    """Print what was understood of a document: its passages by page; first what its reader noticed.

    For example:

        hushgate documents show 12 --account corner-shop
    """

    async def load(source: Pool, user_id: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        found = [each for each in await storage.list_documents(source, user_id) if each["id"] == document_id]
        if not found:
            message = f"ID: expected a document of {user_id}, got {document_id}"
            raise fail(message, code=ExitCode.NEGATIVE)
        chunks = await storage.list_chunks(source, user_id, document_id, limit=MOST_SHOWN)
        return found[0]["notes"], chunks

    notes, chunks = with_documents(account, load)
    for each in notes:
        note = read_note(each)
        errors.print(note_text(note), style="yellow" if note.code in WARNINGS else None, markup=False)
    emit(chunks, SHOWN)


@app.command()
def remove(
    ids: Annotated[
        list[int], typer.Argument(metavar="ID...", help="Ids, as `hushgate documents list` prints them.")
    ],
    account: UserIdOption = None,
) -> None:
    """Remove documents with all their chunks; exit code 1 when the account lacks one of them.

    For example:

        hushgate documents remove 12 13 --account corner-shop
    """

    async def remove_all(source: Pool, user_id: str) -> tuple[int, ...]:
        logged = _entry(user_id, {"outcome": "removed", "document_ids": ids[:100]})
        return await storage.remove_documents(source, user_id, ids, logged=logged)

    removed = with_documents(account, remove_all)
    emit([{"id": each, "removed": each in removed} for each in ids], ["id", "removed"])
    if len(removed) < len(set(ids)):
        raise typer.Exit(ExitCode.NEGATIVE)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question as in a message.")],
    account: UserIdOption = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Passages at most.")] = 5,
    min_similarity: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out passages below this similarity, 0 to 1.")
    ] = 0.0,
    label: LabelsOption = None,
) -> None:
    """Print the passages that a worker would retrieve for this query.

    For example:

        hushgate documents search "when are you open?" --account corner-shop
    """

    async def run() -> list[dict[str, Any]]:
        async with open_search() as (source, embedder):
            retriever = PostgresRetriever(source, embedder)
            user_id = await chosen_account(source, account)
            embedded = await AccountScreening(source).masked(user_id, query)
            found = await retriever.search(
                user_id, query, limit, min_similarity, _labels(label), embedded=(embedded,)
            )
            if found.degraded:
                errors.print(f"by words only: the embedding model failed ({found.degraded})", style="yellow")
            return [asdict(passage) for passage in found]

    emit(asyncio.run(run()), FOUND)


@app.command()
def reembed() -> None:
    """Embed every chunk of every account, then switch searches to the vectors.

    The model is HUSHGATE_EMBEDDINGS; when that is not set, the one in use, or one that the server has.

    Run it after changing the model, and after adding documents without one. It may be interrupted and run
    again; searches use the old vectors until the new ones are complete.
    """

    async def run() -> embedding_models.StoredEmbedder | None:
        async with open_writing() as (source, model):
            if model is None:
                raise ConfigurationError(
                    f"HUSHGATE_EMBEDDINGS: expected a model: {await without_vectors(source)}"
                )
            with progress_bar(TimeRemainingColumn(), transient=True) as bar:
                task = bar.add_task("embedding", total=None)
                async for done, whole in model_change.reembed_chunks(source, model):
                    bar.update(task, completed=done, total=whole)
            return await embedding_models.active_embedder(source)

    active = asyncio.run(run())
    assert active is not None  # what has just been re-embedded is active
    columns = ["model", "dimensions"]
    emit([{name: getattr(active, name) for name in columns}], columns)


async def _say_why_without_vectors(source: Pool) -> None:
    """Embeddings that are switched off are no surprise, unless documents have vectors already."""
    reason = await without_vectors(source)
    if reason != NOT_USED or await embedding_models.active_embedder(source):
        print_message(f"no vectors until `hushgate documents reembed`: {reason}", style="yellow")


async def _add_all(ingestion: Ingest, found: Sequence[Path]) -> bool:
    """Add file after file and print each outcome; True when every file was taken."""
    rows = []
    with progress_bar(TimeRemainingColumn(), transient=True) as bar:
        task = bar.add_task("adding", total=len(found))
        for path in found:
            row = await _add_row(ingestion, path)
            bar.advance(task)
            rows.append(row)
            if not stdout_is_terminal():
                emit_json(row)
        await ingestion.finish()
    if stdout_is_terminal():
        emit(rows, ADDED)
    for row in rows:
        for warning in row["warnings"]:
            errors.print(f"{row['source']}: {warning}", style="yellow", markup=False)
    if held_back := sum(len(row["flagged"]) for row in rows):
        errors.print(
            f"not retrieved, as a check failed: {held_back}; see `hushgate documents flagged`",
            style="yellow",
        )
    return not any(row["outcome"] == "refused" for row in rows)


async def _add_row(ingestion: Ingest, path: Path) -> dict[str, Any]:
    try:
        file = document_files.read_document(path)
    except DocumentRejected as error:
        return ingest.refused_row(document_files.source_name(path), error)
    return await ingestion.add(file)


def _files(paths: Sequence[str]) -> tuple[list[Path], list[Path]]:
    each = [document_files.find_documents(path) for path in paths]
    kept, skipped = ([file for files in column for file in files] for column in zip(*each, strict=True))
    return list(dict.fromkeys(kept)), list(dict.fromkeys(skipped))


def _skipped_text(skipped: Sequence[Path]) -> str:
    """How many files were skipped, and the names of the first ones."""
    names = ", ".join(printable(str(path)) for path in skipped[:MOST_NAMED])
    more = f" and {len(skipped) - MOST_NAMED} more" if len(skipped) > MOST_NAMED else ""
    return f"{len(skipped)} files skipped, which are hidden or of another format: {names}{more}"


def _labels(given: Sequence[str] | None) -> dict[str, str]:
    labels = {}
    for each in given or ():
        key, separator, value = each.partition("=")
        if not (key.strip() and separator):
            raise fail(f"--label: expected KEY=VALUE, got {each!r}")
        labels[key.strip()] = value.strip()
    return labels
