"""Rules as a file: down as they are stored, up in the formats of other tools."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from db import account_versions, accounts
from db.access_log import Action
from review.accounts.account_changes import difference
from review.accounts.rule_texts import LISTS, Draft, version_in
from review.pages import rules
from review.web import Refused, Visit
from worker.errors import RuleRejected
from worker.model import Account
from worker.rules.formats import Format, RuleList, read_rules, write_rules

MOST_BYTES: Final = 16 * 1024 * 1024
"""A hundred thousand rules of average length are 2 MB."""
ENDINGS: Final = {
    Format.LIST: "txt",
    Format.CSV: "csv",
    Format.JSON: "json",
    Format.AUTOMODERATOR: "yaml",
    Format.DISCORD: "txt",
}


async def download(visit: Visit) -> Response:
    """The rules of a version as a file."""
    user_id = rules.account_named(visit)
    fmt = _format(visit.request.query_params.get("format", Format.JSON))
    found = await account_versions.in_force(visit.store.pool, user_id)
    if asked := visit.request.query_params.get("version"):
        found = await rules.version_named(visit, user_id, asked)
    account = found.account
    kept = RuleList(keywords=account.flagged_keywords, phrases=account.flagged_phrases, allow=account.allowed)
    detail = {"what": "rules", "version": account.version, "format": fmt.value}
    await visit.log(Action.DOWNLOAD, user_id=user_id, detail=detail)
    name = f"rules-v{account.version}.{ENDINGS[fmt]}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(write_rules(kept, fmt), media_type="text/plain; charset=utf-8", headers=headers)


async def form(visit: Visit) -> Response:
    """Where a file is handed in."""
    stored = await account_versions.in_force(visit.store.pool, rules.account_named(visit))
    rules.known(visit, stored.account)
    return _page(visit, stored.account)


async def upload(visit: Visit) -> Response:
    """Check a file and, when asked to, store its rules in place of those in force or beside them."""
    stored = await account_versions.in_force(visit.store.pool, rules.account_named(visit))
    rules.known(visit, stored.account)
    if version_in(visit.form) != stored.account.version:
        raise Refused(
            409,
            "Somebody saved meanwhile",
            f"Version {stored.account.version} is in force now; the file was chosen for version"
            f" {version_in(visit.form)}. Nothing was stored: open the page again and choose the file anew.",
        )
    try:
        found = await _read(visit)
    except RuleRejected as error:
        return _page(visit, stored.account, wrong=error.reason, status=422)
    draft = _draft(stored.account, found, add=visit.form.get("mode") == "add")
    account, remarks = await rules.checked(visit, stored, draft)
    errors = any(each.level == "error" for each in remarks)
    values = {"remarks": remarks, "skipped": found.skipped, "read": found}
    if account is None or errors or visit.form.get("action") == "check":
        change = difference(stored.account, account) if account else None
        status = 422 if errors or account is None else 200
        return _page(visit, stored.account, status=status, change=change, **values)
    if account == stored.account:
        return visit.redirect("rules", "same=1", account=account.user_id)
    try:
        version = await rules.store(visit, stored.account, account, Action.RULES, by="file")
    except accounts.VersionMoved as error:
        raise Refused(409, "Somebody saved meanwhile", f"{error}. Nothing was stored.") from error
    return visit.redirect("rules", f"saved={version}", account=account.user_id)


async def _read(visit: Visit) -> RuleList:
    """The rules of the file that was handed in.

    Raises:
        RuleRejected: there is none, or it is not what its format says.
    """
    file = visit.form.get("file")
    if not isinstance(file, UploadFile) or not file.size:
        raise RuleRejected("*", "file: expected a file with rules, got none")
    try:
        text = (await file.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RuleRejected("*", f"file: expected UTF-8, got another byte at {error.start}") from error
    return read_rules(text, _format(str(visit.form.get("format", Format.LIST))))


def _draft(account: Account, found: RuleList, *, add: bool) -> Draft:
    """The file as if it had been typed: one line a rule."""
    read = {"flagged_keywords": found.keywords, "flagged_phrases": found.phrases, "allowed": found.allow}
    if add:
        read = {name: tuple(dict.fromkeys((*getattr(account, name), *read[name]))) for name in LISTS}
    texts = {name: "\n".join(" ".join(rule.split("\n")) for rule in read[name]) for name in LISTS}
    return Draft(version=account.version, texts=texts)


def _format(name: str) -> Format:
    if name not in set(Format):
        raise Refused(
            400, "Not understood", f"format: expected one of {', '.join(Format)}, got {name[:40]!r}."
        )
    return Format(name)


def _page(visit: Visit, account: Account, *, status: int = 200, **values: object) -> Response:
    empty: dict[str, object] = {"remarks": None, "skipped": (), "read": None, "change": None, "wrong": ""}
    return visit.render(
        "rule_file.html",
        status=status,
        account=account.user_id,
        version=account.version,
        formats=tuple(Format),
        tab="rules",
        **empty | values,
    )
