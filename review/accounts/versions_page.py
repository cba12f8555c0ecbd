"""The history of an account: its versions, their differences, and restoring one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from db import account_versions, accounts
from db.access_log import LoggedAction
from db.account_versions import AccountVersion
from review.access import Right
from review.accounts.account_changes import TITLES, difference
from review.accounts.rule_texts import LISTS, version_in
from review.accounts.rules_page import account_of_path, store_rules, version_of_path
from review.http.visit import Refused, Visit

PAGE_VERSIONS: Final = 20
NEWEST: Final = 2**31 - 1


async def show_history(visit: Visit) -> Response:
    """Versions, newest first."""
    user_id = account_of_path(visit)
    asked = visit.request.query_params.get("before", "")
    before = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else NEWEST
    found = await account_versions.list_changes(
        visit.store.pool, user_id, before=before, limit=PAGE_VERSIONS + 1
    )
    return visit.render(
        "account_history.html",
        account=user_id,
        changes=found[:PAGE_VERSIONS],
        more=found[PAGE_VERSIONS - 1].version if len(found) > PAGE_VERSIONS else None,
        newest=before == NEWEST,
        titles=TITLES,
        tab="history",
    )


async def compare_versions(visit: Visit) -> Response:
    """The differences between two versions; by default, from no settings to those in force."""
    user_id = account_of_path(visit)
    asked = visit.request.query_params
    newest = await account_versions.current_version(visit.store.pool, user_id)
    after = await version_of_path(visit, user_id, asked["to"]) if asked.get("to") else newest
    before = await version_of_path(visit, user_id, asked.get("from") or "0")
    return visit.render(
        "account_compare.html",
        account=user_id,
        before=before,
        after=after,
        change=difference(before.account, after.account),
        tab="history",
    )


async def confirm_restore(visit: Visit) -> Response:
    """The changes that restoring a version would make."""
    return await _confirm(visit, *await _both(visit))


async def restore_version(visit: Visit) -> Response:
    """Append a version that equals an old one: its rules, or everything."""
    old, stored = await _both(visit)
    if version_in(visit.form) != stored.account.version:
        return await _confirm(visit, old, stored, stale=version_in(visit.form), status=409)
    whole = visit.form.get("what") == "everything"
    if whole:
        visit.require(Right.ADMIN, stored.account.user_id)
        wanted = replace(old.account, version=stored.account.version)
    else:
        wanted = replace(stored.account, **{name: getattr(old.account, name) for name in LISTS})
    if wanted == stored.account:
        return visit.redirect("rules", "same=1", account=wanted.user_id)
    try:
        version = await store_rules(
            visit,
            stored.account,
            wanted,
            LoggedAction.SETTINGS if whole else LoggedAction.RULES,
            restored=old.account.version,
        )
    except accounts.VersionMoved as error:
        _, now = await _both(visit)
        return await _confirm(visit, old, now, stale=error.in_force, status=409)
    return visit.redirect("rules", f"saved={version}", account=wanted.user_id)


async def _both(visit: Visit) -> tuple[AccountVersion, AccountVersion]:
    user_id = account_of_path(visit)
    old = await version_of_path(visit, user_id, str(visit.request.path_params["version"]))
    if old.account.version == 0:
        raise Refused(404, "No such version", f"{user_id} has no version 0 to go back to.")
    return old, await account_versions.current_version(visit.store.pool, user_id)


async def _confirm(
    visit: Visit, old: AccountVersion, stored: AccountVersion, *, stale: int | None = None, status: int = 200
) -> Response:
    change = difference(stored.account, replace(old.account, version=stored.account.version))
    return visit.render(
        "account_restore.html",
        status=status,
        account=stored.account.user_id,
        old=old,
        stored=stored,
        change=change,
        stale=stale,
        may_all=visit.may(Right.ADMIN, stored.account.user_id),
        tab="history",
    )
