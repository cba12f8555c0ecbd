"""The documents that an account's replies may rest on: listed, added, removed, searched."""

from __future__ import annotations

from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from db import account_versions, documents, embedders, embedding
from db.access_log import Action
from db.embedding import BATCH_TIMEOUT_S
from db.ingest import File, Ingest, Model, Wanted
from db.retrieval import PostgresRetriever
from review.access import Right
from review.pages.rules import account_named, known
from review.web import Refused, Visit
from worker.documents.model import TITLE_CHARS, Format
from worker.documents.reading import SUFFIXES
from worker.errors import ConfigurationError, EmbeddingRejected, RetrievalUnavailable
from worker.model import Retrieved

MOST_BYTES: Final = 20 * 1024 * 1024
"""Largest upload; larger documents go in by the command line, up to 50 MiB."""
PAGE_DOCUMENTS: Final = 100
PASSAGES: Final = 5
QUERY_CHARS: Final = 2_000
ENDED: Final = {
    "added": "Added.",
    "replaced": "Replaced the older version of the same name.",
    "unchanged": "Nothing to do: the account has this very document.",
    "duplicate": "Nothing to do: the account has the same content under another name.",
    "relabelled": "Nothing but its labels changed.",
    "removed": "Removed, with all its passages.",
}
PASTED: Final = {"markdown": Format.MARKDOWN, "html": Format.HTML, "text": Format.TEXT}


async def show(visit: Visit) -> Response:
    """The documents; with ``q`` the passages that a reply to this message would rest on."""
    user_id = account_named(visit)
    query = visit.request.query_params.get("q", "")[:QUERY_CHARS].strip()
    found = await _searched(visit, user_id, query) if query else None
    return await _page(visit, user_id, query=query, found=found)


async def add(visit: Visit) -> Response:
    """Take a document in: a file, or a text that was pasted.

    Raises:
        Refused: 404, there is no such account.
    """
    user_id, form = account_named(visit), visit.form
    known(visit, (await account_versions.in_force(visit.store.pool, user_id)).account)
    title = str(form.get("title", "")).strip()[:TITLE_CHARS]
    typed = {"title": title, "pasted": str(form.get("pasted", "")), "kind": str(form.get("kind", ""))}
    file, kind = await _handed_in(visit)
    if file is None:
        return await _page(visit, user_id, typed=typed, wrong="Choose a file or paste a text.", status=422)
    wanted = Wanted(user_id=user_id, title=title, kind=kind)
    try:
        row = await _taken_in(visit, wanted, file)
    except (ConfigurationError, RetrievalUnavailable, EmbeddingRejected) as error:
        said = f"Nothing was stored: the embedding model cannot be used. {error}"
        return await _page(visit, user_id, typed=typed, wrong=said, status=503)
    if row["outcome"] == "refused":
        said = f"{file.name or 'The text'} {row['reason']}. Nothing was stored."
        return await _page(visit, user_id, typed=typed, wrong=said, status=422)
    detail = {name: row[name] for name in ("outcome", "document_id", "chunks")}
    await visit.log(Action.DOCUMENTS, user_id=user_id, detail=detail | {"bytes": len(file.data)})
    return visit.redirect("documents", f"done={row['outcome']}", account=user_id)


async def remove_form(visit: Visit) -> Response:
    """Ask before a document goes."""
    user_id = account_named(visit)
    document = await _document(visit, user_id)
    return visit.render("document_remove.html", account=user_id, document=document, tab="documents")


async def remove(visit: Visit) -> Response:
    """Remove a document with all its passages; there is no way back but adding it again."""
    user_id = account_named(visit)
    document = await _document(visit, user_id)
    await documents.remove(visit.store.pool, user_id, [document["id"]])
    detail = {"outcome": "removed", "document_id": document["id"], "chunks": document["chunks"]}
    await visit.log(Action.DOCUMENTS, user_id=user_id, detail=detail)
    return visit.redirect("documents", "done=removed", account=user_id)


async def _handed_in(visit: Visit) -> tuple[File | None, Format | None]:
    upload, pasted = visit.form.get("file"), str(visit.form.get("pasted", ""))
    if isinstance(upload, UploadFile) and upload.size:
        name = (upload.filename or "document")[-200:].replace("\\", "/").rpartition("/")[2]
        return File(name=name, source=name, data=await upload.read()), None
    if pasted.strip():
        kind = PASTED.get(str(visit.form.get("kind")), Format.MARKDOWN)
        return File(name="", source="", data=pasted.encode("utf-8", "replace")), kind
    return None, None


async def _taken_in(visit: Visit, wanted: Wanted, file: File) -> dict[str, Any]:
    async with embedding.opened(visit.site.settings, patience_s=BATCH_TIMEOUT_S) as model:
        active = await embedders.active(visit.store.pool)
        usable: Model | None = model if active else None  # only the owner of the tables starts a model
        async with visit.site.reading:
            return await Ingest(visit.store.pool, usable, wanted).add(file)


async def _searched(visit: Visit, user_id: str, query: str) -> Retrieved:
    async with embedding.opened(visit.site.settings) as model:
        retriever = PostgresRetriever(visit.store.pool, model.embedder if model else None)
        found = await retriever.search(user_id, query, PASSAGES)
    detail = {"what": "documents", "query_chars": len(query), "passages": len(found)}
    await visit.log(Action.SEARCH, user_id=user_id, detail=detail)
    return found


async def _document(visit: Visit, user_id: str) -> dict[str, Any]:
    """The document in the page's address.

    Raises:
        Refused: 404.
    """
    wanted = str(visit.request.path_params["document"])
    for each in await documents.listed(visit.store.pool, user_id):
        if str(each["id"]) == wanted:
            return each
    raise Refused(404, "No such document", f"{user_id} has no document {wanted[:40]}; it may be gone by now.")


def _has_model(visit: Visit) -> bool:
    return bool(visit.site.settings.embedding_model)


async def _page(visit: Visit, user_id: str, *, status: int = 200, **values: object) -> Response:
    rows = await documents.listed(visit.store.pool, user_id)
    asked = visit.request.query_params.get("page", "1")
    last = max(1, -(-len(rows) // PAGE_DOCUMENTS))
    page = min(last, max(1, int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1))
    typed = {"title": "", "pasted": "", "kind": ""}
    empty: dict[str, object] = {"query": "", "found": None, "wrong": "", "typed": typed}
    return visit.render(
        "documents.html",
        status=status,
        account=user_id,
        rows=rows[::-1][(page - 1) * PAGE_DOCUMENTS : page * PAGE_DOCUMENTS],
        total=len(rows),
        wordless=sum(each["chunks"] - each["vectors"] for each in rows) if _has_model(visit) else 0,
        page=page,
        last=last,
        done=ENDED.get(visit.request.query_params.get("done", ""), ""),
        suffixes=", ".join(SUFFIXES),
        most_mib=MOST_BYTES // 1024**2,
        kinds=tuple(PASTED),
        may_edit=visit.may(Right.EDIT_RULES, user_id),
        tab="documents",
        **empty | values,
    )
