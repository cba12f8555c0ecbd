"""``hushgate documents``: what an account's replies may rest on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli import document_files
from cli.output import emit, emit_json, errors, fail, for_eyes
from db import documents, embedders, embedding, ingest
from db.embedding import BATCH_TIMEOUT_S
from db.ingest import Ingest, Model, Wanted
from db.pool import Pool, pool, reach
from db.retrieval import PostgresRetriever
from worker import settings
from worker.documents.model import Format
from worker.errors import ConfigurationError, DocumentRejected

app = typer.Typer(no_args_is_help=True, help="Documents that an account's replies may rest on.")

ADDED: Final = ["source", "outcome", "document_id", "chunks", "reason"]
LISTED: Final = ["id", "title", "source", "format", "size_bytes", "labels", "chunks", "vectors", "created_at"]
FOUND: Final = ["similarity", "percentile", "found_by", "title", "text", "passage_id"]

Account = Annotated[
    str | None, typer.Option("--account", "-a", help="Whose documents; may be left out with one account.")
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", "-l", metavar="KEY=VALUE", help="May be given many times.")
]


@app.command()
def add(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, or - for a pipe.")],
    account: Account = None,
    title: Annotated[str, typer.Option(help="Instead of the document's own; one file only.")] = "",
    source: Annotated[str, typer.Option(help="Name to replace it by later; one file only.")] = "",
    kind: Annotated[Format | None, typer.Option("--format", help="Instead of the file's ending.")] = None,
    label: Labels = None,
) -> None:
    """Add Markdown, HTML, text and PDF files; a folder with all that is in it.

    Adding the same file again changes nothing; a changed file replaces its older version. What cannot be
    read is refused by name, the others go on, and the exit code is 1.
    """
    found, skipped = _files(paths)
    if len(found) > 1 and (title or source):
        raise fail(f"--title and --source: expected one file, got {len(found)}")
    labels = _labels(label) if label is not None else None
    if skipped:
        errors.print(f"{skipped} files passed over: hidden, or no Markdown, HTML, text or PDF")

    async def run() -> bool:
        async with _opened() as (pool_, model):
            wanted = Wanted(
                user_id=await _account(pool_, account), title=title, source=source, kind=kind, labels=labels
            )
            if model is None and await embedders.active(pool_):
                errors.print(
                    "HUSHGATE_EMBEDDING_MODEL is not set: no vectors until `hushgate documents reembed`"
                )
            return await _add_all(Ingest(pool_, model, wanted), found)

    if not asyncio.run(run()):
        raise typer.Exit(1)


@app.command("list")
def list_(account: Account = None, label: Labels = None) -> None:
    """An account's documents; vectors below chunks means that `hushgate documents reembed` has work to do."""

    async def run() -> list[dict[str, Any]]:
        async with _opened() as (source, _):
            return await documents.listed(source, await _account(source, account), _labels(label))

    emit(asyncio.run(run()), LISTED)


@app.command()
def remove(
    ids: Annotated[list[int], typer.Argument(metavar="ID...", help="From `documents list`.")],
    account: Account = None,
) -> None:
    """Remove documents with all their chunks; exit code 1 when the account lacks one of them."""

    async def run() -> tuple[int, ...]:
        async with _opened() as (source, _):
            return await documents.remove(source, await _account(source, account), ids)

    removed = asyncio.run(run())
    emit([{"id": each, "removed": each in removed} for each in ids], ["id", "removed"])
    if len(removed) < len(set(ids)):
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What a message might ask.")],
    account: Account = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most passages.")] = 5,
    min_similarity: Annotated[float, typer.Option(min=0, max=1, help="Leave out what is below.")] = 0.0,
    label: Labels = None,
) -> None:
    """The passages a reply to this query would rest on, as a worker finds them."""

    async def run() -> list[dict[str, Any]]:
        async with _opened(patience_s=0.0) as (source, model):
            retriever = PostgresRetriever(source, model.embedder if model else None)
            user_id = await _account(source, account)
            found = await retriever.search(user_id, query, limit, min_similarity, _labels(label))
            if found.degraded:
                errors.print(f"by words alone, the embedding model failed: {found.degraded}", style="yellow")
            return [asdict(passage) for passage in found]

    emit(asyncio.run(run()), FOUND)


@app.command()
def reembed() -> None:
    """Give every chunk of every account a vector of HUSHGATE_EMBEDDING_MODEL, then let searches use it.

    Run it after changing the model, and after adding documents without one. It may be interrupted and run
    again; searches use the old vectors until the new ones are complete.
    """

    async def run() -> embedders.StoredEmbedder | None:
        async with _opened() as (source, model):
            if model is None:
                raise ConfigurationError("HUSHGATE_EMBEDDING_MODEL: expected a model, got nothing")
            with _progress("embedding") as (bar, task):
                async for done, whole in ingest.reembedded(source, model):
                    bar.update(task, completed=done, total=whole)
            return await embedders.active(source)

    active = asyncio.run(run())
    assert active is not None  # noqa: S101  # what has just been re-embedded is active
    columns = ["model", "dimensions", "calibrated_chunks"]
    emit([{name: getattr(active, name) for name in columns}], columns)


async def _add_all(ingestion: Ingest, found: Sequence[Path]) -> bool:
    """Add file after file, telling each outcome; True when none was refused."""
    rows = []
    with _progress("adding", total=len(found)) as (bar, task):
        for path in found:
            row = await _added(ingestion, path)
            bar.advance(task)
            rows.append(row)
            if not for_eyes():
                emit_json(row)
        await ingestion.finish()
    if for_eyes():
        emit(rows, ADDED)
    return not any(row["outcome"] == "refused" for row in rows)


async def _added(ingestion: Ingest, path: Path) -> dict[str, Any]:
    try:
        file = document_files.read(path)
    except DocumentRejected as error:
        return ingest.refused(document_files.source_name(path), error)
    return await ingestion.add(file)


@asynccontextmanager
async def _opened(patience_s: float = BATCH_TIMEOUT_S) -> AsyncIterator[tuple[Pool, Model | None]]:
    """Connections of the login's own role, and the embedding model if one is set."""
    try:
        known = settings.documents()
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}\n(hushgate config example prints every variable)") from None
    url = known.database_url.get_secret_value()
    await reach(url)
    async with (
        pool(url, size=2, application="hushgate-cli", role=None) as source,
        embedding.opened(known, patience_s=patience_s) as model,
    ):
        yield source, model


async def _account(source: Pool, given: str | None) -> str:
    if given:
        return given
    known = await documents.accounts(source)
    if len(known) == 1:
        return known[0]
    shown = ", ".join(known) if known else "there is none yet"
    raise fail(f"--account: expected the account whose documents these are ({shown})")


def _files(paths: Sequence[str]) -> tuple[list[Path], int]:
    found: list[Path] = []
    skipped = 0
    for path in paths:
        some, passed_over = document_files.files(path)
        found += some
        skipped += passed_over
    return list(dict.fromkeys(found)), skipped


def _labels(given: Sequence[str] | None) -> dict[str, str]:
    labels = {}
    for each in given or ():
        key, separator, value = each.partition("=")
        if not (key.strip() and separator):
            raise fail(f"--label: expected KEY=VALUE, got {each!r}")
        labels[key.strip()] = value.strip()
    return labels


@contextmanager
def _progress(what: str, total: int | None = None) -> Iterator[tuple[Progress, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        yield bar, bar.add_task(what, total=total)
