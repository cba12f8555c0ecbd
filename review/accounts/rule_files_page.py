"""Rules as a file: download, and upload in the formats of other tools."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts import rules_page
from review.accounts.account_changes import difference
from review.accounts.rule_texts import LISTS, RuleEdit, version_in
from review.accounts.stored_versions import (
    require_known_account,
    store_change,
    stored_version,
    version_in_force,
)
from review.figures.ranges import not_of_list
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.errors import RuleRejected
from worker.model import Account
from worker.rules.dialects import decoded_rules
from worker.rules.formats import RuleList, RuleListFormat, read_rules, write_rules
from worker.rules.oddities import oddities

MOST_BYTES: Final = 16 * 1024 * 1024
"""A hundred thousand rules of average length are 2 MB."""
SUFFIXES: Final = {
    RuleListFormat.LIST: "txt",
    RuleListFormat.CSV: "csv",
    RuleListFormat.JSON: "json",
    RuleListFormat.AUTOMODERATOR: "yaml",
    RuleListFormat.DISCORD: "txt",
}


async def download_rules(visit: Visit) -> Response:
    """The rules of a version as a file."""
    parameters, account = visit.request.query_params, (await version_in_force(visit)).account
    fmt, user_id = _format(parameters.get("format", RuleListFormat.JSON)), account.user_id
    if number := parameters.get("version"):
        account = (await stored_version(visit, user_id, number)).account
    rules = RuleList(
        keywords=account.flagged_keywords, phrases=account.flagged_phrases, allow=account.allowed
    )
    detail = {"what": "rules", "version": account.version, "format": fmt.value}
    await visit.log(LoggedAction.DOWNLOAD, user_id=user_id, detail=detail)
    name = f"rules-v{account.version}.{SUFFIXES[fmt]}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(write_rules(rules, fmt), media_type="text/plain; charset=utf-8", headers=headers)


async def show_upload_form(visit: Visit) -> Response:
    """The upload form."""
    account = (await version_in_force(visit)).account
    require_known_account(visit, account)
    return _page(visit, account)


async def upload_rules(visit: Visit) -> Response:
    """Check a file and, on request, store its rules: replacing those in force or added to them."""
    stored = await version_in_force(visit)
    require_known_account(visit, stored.account)
    if version_in(visit.form) != stored.account.version:
        raise _conflict(visit, stored.account)
    try:
        found = await _read(visit)
    except RuleRejected as error:
        return _page(visit, stored.account, problem=error.reason, status=422)
    add = visit.form.get("mode") == "add"
    edit = _edit(stored.account, found, add=add)
    account, remarks = await rules_page.checked_account(visit, stored, edit)
    errors = any(each.level == "error" for each in remarks)
    odd = oddities(found, 0 if add else sum(len(getattr(stored.account, name)) for name in LISTS))
    values = {"remarks": remarks, "skipped": found.skipped, "read": found, "odd": odd}
    asked = bool(odd) and visit.form.get("sure") != "yes"
    if account is None or errors or asked or visit.form.get("action") == "check":
        change = difference(stored.account, account) if account else None
        status = 422 if errors or account is None else 200
        return _page(visit, stored.account, status=status, change=change, **values)
    answer = await store_change(visit, stored.account, account, LoggedAction.RULES, by="file")
    if answer is None:
        raise _conflict(visit, (await version_in_force(visit)).account)
    return answer


def _conflict(visit: Visit, in_force: Account) -> Refused:
    text = _(
        "Version %(now)s is in force now; the file was chosen for version %(chosen)s. Nothing was stored:"
        " open the page and choose the file again."
    )
    values = {"now": in_force.version, "chosen": version_in(visit.form)}
    return Refused(409, "Another person saved meanwhile", text % values)


async def _read(visit: Visit) -> RuleList:
    """The rules of the uploaded file.

    Raises:
        RuleRejected: there is none, or it is not what its format says.
    """
    file = visit.form.get("file")
    if not isinstance(file, UploadFile) or not file.size:
        raise RuleRejected("*", _("Choose a file with rules."))
    text = decoded_rules(await file.read())
    return read_rules(text, _format(str(visit.form.get("format", RuleListFormat.LIST))))


def _edit(account: Account, found: RuleList, *, add: bool) -> RuleEdit:
    """The file as if it had been typed: one line a rule."""
    read = {"flagged_keywords": found.keywords, "flagged_phrases": found.phrases, "allowed": found.allow}
    if add:
        read = {name: tuple(dict.fromkeys((*getattr(account, name), *read[name]))) for name in LISTS}
    texts = {name: "\n".join(" ".join(rule.split("\n")) for rule in read[name]) for name in LISTS}
    return RuleEdit(version=account.version, texts=texts)


def _format(name: str) -> RuleListFormat:
    if name not in set(RuleListFormat):
        text = f"{not_of_list('format', RuleListFormat, name)}."
        raise Refused(400, "Not understood", text)
    return RuleListFormat(name)


def _page(visit: Visit, account: Account, *, status: int = 200, **values: object) -> Response:
    empty: dict[str, object] = {
        "remarks": None,
        "skipped": (),
        "read": None,
        "change": None,
        "problem": "",
        "odd": (),
    }
    return visit.render(
        "rule_file.html",
        status=status,
        account=account.user_id,
        version=account.version,
        formats=tuple(RuleListFormat),
        tab="rules",
        **empty | values,
    )
