"""The account in a page's address: its versions, and storing a new one."""

from __future__ import annotations

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions, accounts
from db.account_settings.account_versions import AccountVersion
from db.people.records import EVERY_ACCOUNT
from review.access import Right
from review.accounts.account_changes import difference
from review.http.numbers import whole_number
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from worker.model import Account
from worker.payload import ACCOUNT_CHARS


def account_of_path(visit: Visit) -> str:
    """The account in the page's address; 404 for an impossible name."""
    user_id = str(visit.request.path_params["account"])
    if not 0 < len(user_id) <= ACCOUNT_CHARS or user_id == EVERY_ACCOUNT:
        expected = _("user_id: expected 1 to %(most)s characters and not *.")
        text = expected % {"most": ACCOUNT_CHARS}
        raise Refused(404, "No such account", text)
    return user_id


async def version_in_force(visit: Visit) -> AccountVersion:
    """The version in force of the account in the page's address; number 0 without any."""
    return await account_versions.current_version(visit.store.pool, account_of_path(visit))


async def stored_version(visit: Visit, user_id: str, version: str) -> AccountVersion:
    """A version by its number; 404 for an unknown number. Number 0 is the state before the first version."""
    number = whole_number(version)
    found = await account_versions.get_version(visit.store.pool, user_id, number) if number else None
    if found is None and version == "0":
        return AccountVersion(account=Account(user_id=user_id, version=0), changed_by="", changed_at=None)
    if found is None:
        raise Refused(
            404,
            "No such version",
            _("%(account)s has no version %(version)s.") % {"account": user_id, "version": version[:40]},
        )
    return found


def require_known_account(visit: Visit, before: Account) -> None:
    """Refuse (404) a change that would set up an account, except for its administrators."""
    if before.version == 0 and not visit.may(Right.ADMIN, before.user_id):
        missing = _("%(account)s has no settings yet. Its administrators can set it up, at Accounts.")
        text = missing % {"account": before.user_id}
        raise Refused(404, "No such account", text)


async def store_change(
    visit: Visit,
    before: Account,
    after: Account,
    action: LoggedAction,
    *,
    page: str = "rules",
    level: str = "",
    **detail: object,
) -> Response | None:
    """Store a change of ``before`` and lead to the page that shows it; None when ``before`` is not in force.

    The entry of the access log has the change in numbers and ``detail``. An unchanged account stores nothing.
    """
    shown = f"&level={level}" if level == "all" else ""
    if after == before:
        return visit.redirect(page, f"same=1{shown}", account=after.user_id)
    version = await store_version(visit, before, after, action, **detail)
    return None if version is None else visit.redirect(page, f"saved={version}{shown}", account=after.user_id)


async def store_version(
    visit: Visit, before: Account, after: Account, action: LoggedAction, **detail: object
) -> int | None:
    """Store a change as ``store_change``; the new version, None when ``before`` is not in force."""
    require_known_account(visit, before)
    change = difference(before, after)
    known: dict[str, object] = {"from": before.version, "added": change.added, "removed": change.removed}
    known |= {"settings": [each.name for each in change.settings]} | detail
    try:
        return await accounts.store_account(
            visit.store.pool,
            after,
            changed_by=visit.person.login,
            expected=before.version,
            logged=lambda version: visit.entry(
                action, user_id=after.user_id, detail=known | {"version": version}
            ),
        )
    except accounts.VersionMoved:
        return None
