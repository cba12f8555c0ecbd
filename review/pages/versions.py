"""What was changed when and by whom: the history of an account, differences, and going back."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from db import account_versions, accounts
from db.access_log import Action
from db.account_versions import Version
from review.access import Right
from review.accounts.account_changes import TITLES, difference
from review.accounts.rule_texts import LISTS, version_in
from review.pages.rules import account_named, store, version_named
from review.web import Refused, Visit

PAGE_VERSIONS: Final = 20
NEWEST: Final = 2**31 - 1


async def history(visit: Visit) -> Response:
    """Versions, newest first."""
    user_id = account_named(visit)
    asked = visit.request.query_params.get("before", "")
    before = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else NEWEST
    found = await account_versions.history(visit.store.pool, user_id, before=before, limit=PAGE_VERSIONS + 1)
    return visit.render(
        "account_history.html",
        account=user_id,
        changes=found[:PAGE_VERSIONS],
        more=found[PAGE_VERSIONS - 1].version if len(found) > PAGE_VERSIONS else None,
        newest=before == NEWEST,
        titles=TITLES,
        tab="history",
    )


async def compare(visit: Visit) -> Response:
    """What differs between two versions; as it stands alone, all that is in force."""
    user_id = account_named(visit)
    asked = visit.request.query_params
    newest = await account_versions.in_force(visit.store.pool, user_id)
    after = await version_named(visit, user_id, asked["to"]) if asked.get("to") else newest
    before = await version_named(visit, user_id, asked.get("from") or "0")
    return visit.render(
        "account_compare.html",
        account=user_id,
        before=before,
        after=after,
        change=difference(before.account, after.account),
        tab="history",
    )


async def restore_form(visit: Visit) -> Response:
    """What going back to a version would change, before it does."""
    return await _confirm(visit, *await _both(visit))


async def restore(visit: Visit) -> Response:
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
        version = await store(
            visit,
            stored.account,
            wanted,
            Action.SETTINGS if whole else Action.RULES,
            restored=old.account.version,
        )
    except accounts.VersionMoved as error:
        _, now = await _both(visit)
        return await _confirm(visit, old, now, stale=error.in_force, status=409)
    return visit.redirect("rules", f"saved={version}", account=wanted.user_id)


async def _both(visit: Visit) -> tuple[Version, Version]:
    user_id = account_named(visit)
    old = await version_named(visit, user_id, str(visit.request.path_params["version"]))
    if old.account.version == 0:
        raise Refused(404, "No such version", f"{user_id} has no version 0 to go back to.")
    return old, await account_versions.in_force(visit.store.pool, user_id)


async def _confirm(
    visit: Visit, old: Version, stored: Version, *, stale: int | None = None, status: int = 200
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
