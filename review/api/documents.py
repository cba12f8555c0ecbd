"""Documents and rules of an account by the JSON API."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import FormData
from starlette.responses import Response

from db.access_log import LoggedAction
from db.documents import storage
from db.documents.ingest import DocumentOptions
from review.accounts.document_page import remove_from_path
from review.accounts.documents_page import UploadProblem, store_upload, uploaded_file
from review.accounts.rule_texts import LINE, LISTS, Remark, RuleEdit
from review.accounts.rules_page import checked_account
from review.accounts.stored_versions import (
    account_of_path,
    require_known_account,
    store_version,
    version_in_force,
)
from review.api.body import JSON, json_answer, read_body, require_media, unusable
from review.api.change_shapes import NewDocument, NewRules
from review.http.field_problems import FieldProblem
from review.http.visit import BODY_BYTES, Refused, Visit
from worker.documents.model import TITLE_CHARS
from worker.model import Account
from worker.rules import ProblemLevel

FORM: Final = "multipart/form-data"


async def list_documents(visit: Visit) -> Response:
    """The documents of the account."""
    rows = await storage.list_documents(visit.store.pool, account_of_path(visit))
    lines = [
        {"document_id": row["id"], **{name: row[name] for name in ("title", "source", "chunks")}}
        for row in rows
    ]
    return json_answer({"documents": lines})


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
    return json_answer(stored | {"flagged": len(row["flagged"])}, status=201)


async def remove_document(visit: Visit) -> Response:
    """Remove a document with all its passages."""
    user_id, document_id = account_of_path(visit), int(visit.request.path_params["document"])
    await remove_from_path(visit, user_id, api=True)
    return json_answer({"document_id": document_id})


def _form_of(body: NewDocument) -> FormData:
    return FormData({"title": body.title, "pasted": body.text, "kind": body.format})


async def show_rules(visit: Visit) -> Response:
    """The rules in force."""
    found = await version_in_force(visit)
    account = found.account
    facts = {"user_id": account.user_id, "version": account.version}
    changed = {"changed_by": found.changed_by, "changed_at": found.changed_at}
    return json_answer(facts | changed | {name: getattr(account, name) for name in LISTS})


async def store_rules(visit: Visit) -> Response:
    """Store a new version; 409 when another one is in force, 422 with errors in rules."""
    stored, body = await version_in_force(visit), await read_body(visit, NewRules)
    require_known_account(visit, stored.account)
    if body.version != stored.account.version:
        raise _conflict(stored.account.version)
    account, remarks = await checked_account(visit, stored, _edit(stored.account, body))
    errors = [_problem(each) for each in remarks if each.level is ProblemLevel.ERROR]
    if account is None or errors:
        raise unusable(errors)
    version: int | None = stored.account.version
    if account != stored.account:
        version = await store_version(visit, stored.account, account, LoggedAction.RULES, api=True)
    if version is None:
        raise _conflict((await version_in_force(visit)).account.version)
    warnings = [f"{each.name}.{each.line - 1}: {each.text}" for each in remarks]
    return json_answer({"version": version, "changed": account != stored.account, "warnings": warnings})


def _edit(account: Account, body: NewRules) -> RuleEdit:
    """The lists as the rule editor has them: one line a rule."""
    lists = {name: getattr(body, name) for name in LISTS}
    chosen = {name: getattr(account, name) if rules is None else rules for name, rules in lists.items()}
    texts = {name: "\n".join(LINE.sub(" ", rule) for rule in rules) for name, rules in chosen.items()}
    return RuleEdit(version=body.version, texts=texts)


def _problem(remark: Remark) -> FieldProblem:
    field = f"{remark.name or 'data'}.{remark.line - 1}" if remark.line else remark.name or "data"
    return FieldProblem(field=field, expected=f"a usable rule ({remark.text})", got=remark.rule[:120])


def _conflict(version: int) -> Refused:
    text = f"Version {version} is in force now. Nothing was stored: read the rules and change them again."
    return Refused(409, "Another version is in force", text)
