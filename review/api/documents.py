"""Documents of an account by the JSON API: list, add, remove."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import FormData
from starlette.responses import Response

from db.documents import storage
from db.documents.ingest import DocumentOptions
from review.accounts.document_page import remove_from_path
from review.accounts.documents_page import UploadProblem, store_upload, uploaded_file
from review.accounts.stored_versions import account_of_path, require_known_account, version_in_force
from review.api.body import JSON, answer, read_body, require_media, unusable
from review.api.change_shapes import NewDocument
from review.http.field_problems import FieldProblem
from review.http.visit import BODY_BYTES, Refused, Visit
from worker.documents.model import TITLE_CHARS

FORM: Final = "multipart/form-data"


async def list_documents(visit: Visit) -> Response:
    """The documents of the account."""
    rows = await storage.list_documents(visit.store.pool, account_of_path(visit))
    lines = [
        {"document_id": row["id"], **{name: row[name] for name in ("title", "source", "chunks")}}
        for row in rows
    ]
    return answer({"documents": lines})


async def add_document(visit: Visit) -> Response:
    """Add a document: a text as JSON, or a file in the field ``file`` of a form."""
    user_id = account_of_path(visit)
    require_known_account(visit, (await version_in_force(visit)).account)
    if require_media(visit, JSON, FORM) == FORM:
        visit.form = await visit.request.form(max_fields=10, max_part_size=BODY_BYTES)
    else:
        visit.form = _form_of(await read_body(visit, NewDocument))
    file, kind = await uploaded_file(visit)
    if file is None:
        raise unusable([FieldProblem(field="text", expected="a text or a file", got="nothing")])
    title = visit.field("title").strip()[:TITLE_CHARS]
    try:
        options = DocumentOptions(user_id=user_id, title=title, kind=kind)
        row = await store_upload(visit, options, file, api=True)
    except UploadProblem as problem:
        raise Refused(problem.status, "The document was not stored", str(problem)) from problem
    stored = {name: row[name] for name in ("document_id", "outcome", "chunks", "warnings", "left_out")}
    return answer(stored | {"flagged": len(row["flagged"])}, status=201)


async def remove_document(visit: Visit) -> Response:
    """Remove a document with all its passages."""
    user_id, document_id = account_of_path(visit), int(visit.request.path_params["document"])
    await remove_from_path(visit, user_id, api=True)
    return answer({"document_id": document_id})


def _form_of(body: NewDocument) -> FormData:
    return FormData({"title": body.title, "pasted": body.text, "kind": body.format})
