"""Settings of an account: switches, thresholds, policies, fallback texts, looked over before they count."""

from __future__ import annotations

from starlette.responses import Response

from db import account_versions, accounts
from db.access_log import Action
from db.account_versions import Version
from review.access import Right
from review.accounts import settings_form
from review.accounts.account_changes import dangers, difference
from review.accounts.rule_texts import version_in
from review.accounts.settings_form import DESIGNS, KNOWN, Typed
from review.pages.rules import account_named, store
from review.web import Visit
from worker.model import Account, FailurePolicy

FAILURES = {
    FailurePolicy.HOLD: "wait for it, up to the longest hold, then give the message up in silence",
    FailurePolicy.BLOCK: "try three times, then stay silent",
    FailurePolicy.ALLOW: "try three times, then answer without it",
}


async def show(visit: Visit) -> Response:
    """The settings in force; a form for who may change them."""
    stored = await account_versions.in_force(visit.store.pool, account_named(visit))
    return _page(visit, stored, settings_form.of(stored.account))


async def save(visit: Visit) -> Response:
    """Show what would change; asked to ``store``, store it as a new version."""
    stored = await account_versions.in_force(visit.store.pool, account_named(visit))
    typed = settings_form.read(visit.form)
    account = settings_form.applied(typed, stored.account)
    action = visit.form.get("action")
    if account is None:
        return _page(visit, stored, typed, status=422)
    if version_in(visit.form) != stored.account.version:
        return await _conflict(visit, stored, typed)
    if action == "back":
        return _page(visit, stored, typed)
    if action != "store" and account != stored.account:
        return _review(visit, stored, typed, account)
    return await _store(visit, stored, typed, account)


async def _store(visit: Visit, stored: Version, typed: Typed, account: Account) -> Response:
    if account == stored.account:
        return visit.redirect("settings", "same=1", account=account.user_id)
    try:
        version = await store(visit, stored.account, account, Action.SETTINGS)
    except accounts.VersionMoved:
        now = await account_versions.in_force(visit.store.pool, account.user_id)
        return await _conflict(visit, now, typed)
    return visit.redirect("settings", f"saved={version}", account=account.user_id)


def _review(visit: Visit, stored: Version, typed: Typed, account: Account) -> Response:
    return visit.render(
        "settings_review.html",
        account=account.user_id,
        stored=stored,
        change=difference(stored.account, account),
        dangers=dangers(stored.account, account),
        warnings=typed.warnings(),
        typed=typed,
        tab="settings",
    )


async def _conflict(visit: Visit, stored: Version, typed: Typed) -> Response:
    """Somebody stored meanwhile: what they changed, and the form as it was typed, now on top of theirs."""
    version = version_in(visit.form)
    base = await account_versions.one(visit.store.pool, stored.account.user_id, version)
    before = base.account if base else Account(user_id=stored.account.user_id, version=0)
    theirs = difference(before, stored.account)
    return _page(visit, stored, typed, theirs=theirs, made_from=version, status=409)


def _page(visit: Visit, stored: Version, typed: Typed, *, status: int = 200, **values: object) -> Response:
    empty: dict[str, object] = {"theirs": None, "made_from": 0}
    asked = visit.request.query_params
    return visit.render(
        "account_settings.html",
        status=status,
        account=stored.account.user_id,
        stored=stored,
        typed=typed,
        warnings=typed.warnings(),
        categories=KNOWN,
        designs=DESIGNS,
        failures=FAILURES,
        effective=settings_form.effective(stored.account),
        may_edit=visit.may(Right.ADMIN, stored.account.user_id),
        saved=asked.get("saved") == str(stored.account.version),
        same=asked.get("same") == "1",
        new=asked.get("new") == "1",
        tab="settings",
        **empty | values,
    )
