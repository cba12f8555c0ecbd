"""The history of an account: its versions, their differences, and restoring one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.account_settings.account_versions import AccountVersion
from review.access import Right
from review.accounts.account_changes import TITLES, difference
from review.accounts.rule_texts import LISTS, version_in
from review.accounts.stored_versions import account_of_path, store_change, stored_version, version_in_force
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _

PAGE_VERSIONS: Final = 20
NEWEST: Final = 2**31 - 1


async def show_history(visit: Visit) -> Response:
    """Versions, newest first."""
    user_id = account_of_path(visit)
    given, pool = whole_number(visit.request.query_params.get("before", "")), visit.store.pool
    before = NEWEST if given is None else given
    found = await account_versions.list_changes(pool, user_id, before=before, limit=PAGE_VERSIONS + 1)
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
    user_id, query = account_of_path(visit), visit.request.query_params
    after = await version_in_force(visit)
    if number := query.get("to"):
        after = await stored_version(visit, user_id, number)
    before = await stored_version(visit, user_id, query.get("from") or "0")
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
    return await _confirm(visit, *await _old_and_current(visit))


async def restore_version(visit: Visit) -> Response:
    """Append a version that equals an old one: its rules, or everything."""
    old, stored = await _old_and_current(visit)
    if version_in(visit.form) != stored.account.version:
        return await _confirm(visit, old, stored, conflict=True)
    everything = visit.form.get("what") == "everything"
    if everything:
        visit.require(Right.ADMIN, stored.account.user_id)
        restored = replace(old.account, version=stored.account.version)
    else:
        restored = replace(stored.account, **{name: getattr(old.account, name) for name in LISTS})
    action = LoggedAction.SETTINGS if everything else LoggedAction.RULES
    answer = await store_change(visit, stored.account, restored, action, restored=old.account.version)
    return answer or await _confirm(visit, old, await version_in_force(visit), conflict=True)


async def _old_and_current(visit: Visit) -> tuple[AccountVersion, AccountVersion]:
    user_id = account_of_path(visit)
    old = await stored_version(visit, user_id, str(visit.request.path_params["version"]))
    if old.account.version == 0:
        raise Refused(
            404, "No such version", _("%(account)s has no version 0 to go back to.") % {"account": user_id}
        )
    return old, await version_in_force(visit)


async def _confirm(
    visit: Visit, old: AccountVersion, stored: AccountVersion, *, conflict: bool = False
) -> Response:
    change = difference(stored.account, replace(old.account, version=stored.account.version))
    return visit.render(
        "account_restore.html",
        status=409 if conflict else 200,
        account=stored.account.user_id,
        old=old,
        stored=stored,
        change=change,
        conflict=conflict,
        may_all=visit.may(Right.ADMIN, stored.account.user_id),
        tab="history",
    )
