"""The page of one document: what was understood of it, beside the document itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LogEntry, LoggedAction
from db.documents import flagged_chunks, storage
from review.access import Right
from review.accounts.documents_page import OUTCOMES
from review.accounts.reading_notes import shown_notes
from review.accounts.stored_versions import account_of_path
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.adapters import document_process
from worker.documents.model import DocumentFormat, SourceText
from worker.errors import DocumentRejected

PAGE_PASSAGES: Final = 50
MOST_PASSAGES: Final = 100_000


async def show_document(visit: Visit) -> Response:
    """The page: what the reader of the document noticed, and the passages beside their source.

    A PDF is shown page by page, others 50 passages at a time.
    """
    user_id = account_of_path(visit)
    document = await document_of_path(visit, user_id)
    is_paged = document["format"] == DocumentFormat.PDF and document["pages"] > 0
    return visit.render(
        "document.html",
        account=user_id,
        document=document,
        notes=shown_notes(document["notes"]),
        flagged=await flagged_chunks.list_flagged(visit.store.pool, user_id, document["id"]),
        done=OUTCOMES.get(visit.request.query_params.get("done", ""), ""),
        may_edit=visit.may(Right.EDIT_RULES, user_id),
        tab="documents",
        **await (_page_of_pdf if is_paged else _passages)(visit, user_id, document),
    )


async def show_picture(visit: Visit) -> Response:
    """A page of a PDF as a picture."""
    user_id = account_of_path(visit)
    document = await document_of_path(visit, user_id)
    if document["format"] != DocumentFormat.PDF:
        raise Refused(404, _("Not found"), _("There is nothing here, or you may not see it."))
    data = await storage.document_file(visit.store.pool, user_id, document["id"])
    try:
        async with visit.site.readers:
            picture = await document_process.picture(data, visit.request.path_params["page"])
    except DocumentRejected as error:
        text = _("The document %(reason)s.") % {"reason": error}
        raise Refused(404, _("Not found"), text) from error
    return Response(picture, media_type="image/png")


async def _page_of_pdf(visit: Visit, user_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """One page, and the passages that are or may be on it."""
    last = document["pages"]
    page = min(max(whole_number(visit.request.query_params.get("page", "")) or 1, 1), last)
    is_unread = any(page in note["pages"] for note in document["notes"])
    found = await storage.list_page_chunks(visit.store.pool, user_id, document["id"], page)
    shown = [each for each in found if each["page"] == page or not is_unread]
    return {"page": page, "last": last, "is_unread": is_unread, "passages": shown}


async def _passages(visit: Visit, user_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """Passages, each with its part of the source."""
    after = whole_number(visit.request.query_params.get("after", "")) or 0
    pool, document_id = visit.store.pool, document["id"]
    every = await storage.list_chunks(pool, user_id, document_id, limit=MOST_PASSAGES)
    shown = [each for each in every if each["number"] > after][:PAGE_PASSAGES]
    texts = [each["text"] for each in every]
    sources, problem = await _sources(visit, user_id, document, texts, slice(after, after + len(shown)))
    passages = [
        each | {"source": source} for each, source in zip(shown, sources or [[]] * len(shown), strict=True)
    ]
    return {"page": 0, "passages": passages, "more": after + len(shown) < len(every), "problem": problem}


async def _sources(
    visit: Visit, user_id: str, document: dict[str, Any], texts: Sequence[str], wanted: slice
) -> tuple[list[list[SourceText]], str]:
    """The source's texts beside the wanted passages; or no texts, and the reason."""
    data = await storage.document_file(visit.store.pool, user_id, document["id"])
    try:
        async with visit.site.readers:
            kind = DocumentFormat(document["format"])
            return await document_process.source(data, kind, texts, wanted), ""
    except DocumentRejected as error:
        return [], str(error)


async def release_parts(visit: Visit) -> Response:
    """Release flagged passages of a document, one or all, or hold them back again."""
    user_id = account_of_path(visit)
    document = await document_of_path(visit, user_id)
    part = visit.field("part")
    parts = [int(part)] if part.isascii() and part.isdigit() and len(part) < 7 else None
    pool, document_id = visit.store.pool, document["id"]
    outcome = "held_back" if visit.form.get("hold") else "released"

    def logged(changed: tuple[int, ...]) -> LogEntry:
        detail = {"outcome": outcome, "document_id": document_id, "parts": changed[:100]}
        return visit.entry(LoggedAction.DOCUMENTS, user_id=user_id, detail=detail)

    if outcome == "held_back":
        await flagged_chunks.hold_back_chunks(pool, user_id, document_id, parts, logged=logged)
    else:
        login = visit.person.login
        await flagged_chunks.release_chunks(pool, user_id, document_id, parts, person=login, logged=logged)
    return visit.redirect("document", f"done={outcome}", account=user_id, document=document_id)


async def confirm_removal(visit: Visit) -> Response:
    """Ask before removing a document."""
    user_id = account_of_path(visit)
    document = await document_of_path(visit, user_id)
    return visit.render("document_remove.html", account=user_id, document=document, tab="documents")


async def remove_document(visit: Visit) -> Response:
    """Remove a document with all its passages; only adding it again brings it back."""
    user_id = account_of_path(visit)
    await remove_from_path(visit, user_id)
    return visit.redirect("documents", "done=removed", account=user_id)


async def remove_from_path(visit: Visit, user_id: str, **more: object) -> None:
    """Remove the document in the address, with its line of the access log; 404 when there is none."""
    document = await document_of_path(visit, user_id)
    detail = {"outcome": "removed", "document_id": document["id"], "chunks": document["chunks"]} | more
    logged = visit.entry(LoggedAction.DOCUMENTS, user_id=user_id, detail=detail)
    await storage.remove_documents(visit.store.pool, user_id, [document["id"]], logged=logged)


async def document_of_path(visit: Visit, user_id: str) -> dict[str, Any]:
    """The document in the page's address; 404 when there is none."""
    number = str(visit.request.path_params["document"])
    for each in await storage.list_documents(visit.store.pool, user_id):
        if str(each["id"]) == number:
            return each
    missing = _("%(account)s has no document %(number)s; it may have been removed.")
    text = missing % {"account": user_id, "number": number[:40]}
    raise Refused(404, "No such document", text)
