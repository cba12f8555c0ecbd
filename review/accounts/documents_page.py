"""The documents page of an account: list, add, search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from db.access_log import LogEntry, LoggedAction
from db.documents import configured_embedder, embedding_models, storage
from db.documents.account_screening import AccountScreening
from db.documents.ingest import DocumentFile, DocumentOptions, EntryOfRow, Ingest
from db.documents.retrieval import PostgresRetriever
from features.feature import panel_functions
from review.access import Right
from review.accounts.reading_notes import shown_notes
from review.accounts.stored_versions import account_of_path, require_known_account, version_in_force
from review.http.numbers import page_of
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from worker.documents.model import TITLE_CHARS, DocumentFormat
from worker.documents.reading import SUFFIXES
from worker.errors import ConfigurationError, EmbeddingRejected, RetrievalUnavailable
from worker.model import Retrieved
from worker.places import NoPlace

MOST_BYTES: Final = 20 * 1024 * 1024
"""Largest upload; the command line takes documents up to 50 MiB."""
PAGE_DOCUMENTS: Final = 100
PASSAGES: Final = 5
QUERY_CHARS: Final = 2_000
OUTCOMES: Final = {
    "added": mark("Added."),
    "replaced": mark("Replaced the older version of the same name."),
    "unchanged": mark("Nothing to do: the account has the same document."),
    "duplicate": mark("Nothing to do: the account has the same content under another name."),
    "relabelled": mark("Only its labels changed."),
    "removed": mark("Removed, with all its passages."),
    "released": mark("Released: these passages are used for replies."),
    "held_back": mark("Held back: these passages are not used for replies."),
}
PASTED: Final = {
    each.value: each
    for each in (DocumentFormat.MARKDOWN, DocumentFormat.HTML, DocumentFormat.TEXT, DocumentFormat.CSV)
}


class UploadProblem(Exception):
    """A document that was not stored; the text is for the person, ``status`` 422 or 503."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def show_documents(visit: Visit) -> Response:
    """The documents; with ``q`` the passages found for this message."""
    user_id = account_of_path(visit)
    query = visit.request.query_params.get("q", "")[:QUERY_CHARS].strip()
    found = await _searched(visit, user_id, query) if query else None
    more: dict[str, Any] = {}
    if "missing" in visit.request.query_params:
        typed = [each for panel in panel_functions("document") if (each := await panel(visit, user_id))]
        more = {"typed": typed[0]} if typed else {}
    return await _page(visit, user_id, query=query, found=found, **more)


async def add_document(visit: Visit) -> Response:
    """Add a document: a file or a pasted text."""
    user_id = account_of_path(visit)
    require_known_account(visit, (await version_in_force(visit)).account)
    title = visit.field("title").strip()[:TITLE_CHARS]
    typed = {"title": title, "pasted": visit.field("pasted"), "kind": visit.field("kind")}
    file, kind = await uploaded_file(visit)
    if file is None:
        return await _page(
            visit, user_id, typed=typed, problem=_("Choose a file or paste a text."), status=422
        )
    try:
        row = await store_upload(visit, DocumentOptions(user_id=user_id, title=title, kind=kind), file)
    except UploadProblem as problem:
        return await _page(visit, user_id, typed=typed, problem=str(problem), status=problem.status)
    if row["chunks"] is None:  # nothing was read
        return visit.redirect("documents", f"done={row['outcome']}", account=user_id)
    query = f"done={row['outcome']}"
    return visit.redirect("document", query, account=user_id, document=row["document_id"])


async def store_upload(
    visit: Visit, options: DocumentOptions, file: DocumentFile, **more: object
) -> dict[str, Any]:
    """Store a document with its line of the access log; its outcome as ``Ingest.add`` gives it.

    Raises:
        UploadProblem: 422, the document cannot be read; 503, the embedding model cannot be used.
        Refused: 429, other documents of the account are being read.
    """
    user_id = options.user_id

    def logged(row: Mapping[str, Any]) -> LogEntry:
        detail = {name: row[name] for name in ("outcome", "document_id", "chunks")}
        detail |= {"flagged": len(row["flagged"]), "bytes": len(file.data)} | more
        return visit.entry(LoggedAction.DOCUMENTS, user_id=user_id, detail=detail)

    try:
        async with visit.site.uploads.of(user_id):
            row = await _ingest(visit, options, file, logged)
    except NoPlace as error:
        busy = _("Other documents of %(account)s are being read. Nothing was stored: wait for them to end.")
        message = busy % {"account": user_id}
        raise Refused(429, "Too many at once", message, retry_after_s=10) from error
    except (ConfigurationError, RetrievalUnavailable, EmbeddingRejected) as error:
        failed = _("Nothing was stored: the embedding model cannot be used. %(error)s")
        message = failed % {"error": error}
        raise UploadProblem(503, message) from error
    if row["outcome"] == "refused":
        unusable = _("%(file)s: %(reason)s. Nothing was stored.")
        raise UploadProblem(422, unusable % {"file": file.name or _("The text"), "reason": row["reason"]})
    return row


async def uploaded_file(visit: Visit) -> tuple[DocumentFile | None, DocumentFormat | None]:
    """The file or the pasted text of a form; None without either."""
    upload, pasted = visit.form.get("file"), visit.field("pasted")
    if isinstance(upload, UploadFile) and upload.size:
        name = (upload.filename or "document")[-200:].replace("\\", "/").rpartition("/")[2]
        return DocumentFile(name=name, source=name, data=await upload.read()), None
    if pasted.strip():
        kind = PASTED.get(visit.field("kind"), DocumentFormat.MARKDOWN)
        return DocumentFile(name="", source="", data=pasted.encode("utf-8", "replace")), kind
    return None, None


async def _ingest(
    visit: Visit,
    options: DocumentOptions,
    file: DocumentFile,
    logged: EntryOfRow,
) -> dict[str, Any]:
    pool, readers = visit.store.pool, visit.site.readers
    if await embedding_models.active_embedder(pool) is None:  # only the owner of the tables starts a model
        return await Ingest(pool, None, options, readers=readers, logged=logged).add(file)
    async with configured_embedder.open_model(visit.site.settings, pool) as model:
        return await Ingest(pool, model, options, readers=readers, logged=logged).add(file)


async def _searched(visit: Visit, user_id: str, query: str) -> Retrieved:
    async with configured_embedder.open_embedder(visit.site.settings, visit.store.pool) as embedder:
        retriever = PostgresRetriever(visit.store.pool, embedder)
        embedded = await AccountScreening(visit.store.pool).masked(user_id, query)
        found = await retriever.search(user_id, query, PASSAGES, embedded=(embedded,))
    detail = {"what": "documents", "query_chars": len(query), "passages": len(found)}
    await visit.log(LoggedAction.SEARCH, user_id=user_id, detail=detail)
    return found


async def _page(visit: Visit, user_id: str, *, status: int = 200, **values: object) -> Response:
    rows = await storage.list_documents(visit.store.pool, user_id)
    has_model = await embedding_models.active_embedder(visit.store.pool) is not None
    parameters = visit.request.query_params
    page, last, shown = page_of(rows[::-1], parameters.get("page", "1"), PAGE_DOCUMENTS)
    typed = {"title": parameters.get("title", "")[:TITLE_CHARS], "pasted": "", "kind": ""}
    empty: dict[str, object] = {"query": "", "found": None, "problem": "", "typed": typed}
    return visit.render(
        "documents.html",
        status=status,
        account=user_id,
        rows=shown,
        doubtful={
            each["id"] for each in shown if any(note.is_warning for note in shown_notes(each["notes"]))
        },
        total=len(rows),
        without_vector=sum(each["chunks"] - each["vectors"] for each in rows) if has_model else 0,
        page=page,
        last=last,
        done=OUTCOMES.get(parameters.get("done", ""), ""),
        suffixes=", ".join(SUFFIXES),
        most_mib=MOST_BYTES // 1024**2,
        kinds=tuple(PASTED),
        may_edit=visit.may(Right.EDIT_RULES, user_id),
        tab="documents",
        **empty | values,
    )
