"""The settings page of an account: form, review of the changes, conflicts, storing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.account_settings.account_versions import AccountVersion
from review.access import Right
from review.accounts import mapping_fields, moderator_fields, settings_form
from review.accounts.account_changes import change_warnings, difference
from review.accounts.rule_texts import version_in
from review.accounts.settings_form import KNOWN, SUMMARIES, SettingsForm
from review.accounts.stored_versions import store_change, version_in_force
from review.http.visit import Visit
from review.panels import load_panels
from worker.account_settings import SETTINGS, kind_of
from worker.model import Account, FailurePolicy
from worker.moderator_settings import MODERATOR_PARTS
from worker.setting import Section, Setting

SECTIONS: Final[Mapping[Section, Mapping[str, Setting]]] = {
    section: {name: each for name, each in SETTINGS.items() if each.section is section}
    for section in Section
    if section is not Section.RULES
}


async def show_settings(visit: Visit) -> Response:
    """The settings in force; a form for people with the right to change them."""
    stored = await version_in_force(visit)
    return _page(visit, stored, settings_form.form_of_account(stored.account))


async def save_settings(visit: Visit) -> Response:
    """Show the changes; with the action ``store``, store them as a new version."""
    stored = await version_in_force(visit)
    typed = settings_form.parse_form(visit.form)
    account = settings_form.account_from_form(typed, stored.account)
    action = visit.form.get("action")
    if account is None:
        return _page(visit, stored, typed, status=422)
    if version_in(visit.form) != stored.account.version:
        return await _conflict(visit, stored, typed)
    if action == "back":
        return _page(visit, stored, typed)
    if action != "store" and account != stored.account:
        return await _review(visit, stored, typed, account)
    answer = await store_change(visit, stored.account, account, LoggedAction.SETTINGS, page="settings")
    return answer or await _conflict(visit, await version_in_force(visit), typed)


async def _review(visit: Visit, stored: AccountVersion, typed: SettingsForm, account: Account) -> Response:
    return visit.render(
        "settings_review.html",
        account=account.user_id,
        stored=stored,
        change=difference(stored.account, account),
        risks=change_warnings(stored.account, account),
        warnings=typed.warnings(visit.site.settings.classifiers),
        typed=typed,
        preview=(await load_panels("change", visit, account)).html,
        text_prefixes=mapping_fields.ROWS,
        tab="settings",
    )


async def _conflict(visit: Visit, stored: AccountVersion, typed: SettingsForm) -> Response:
    """Another person stored a version meanwhile: show their changes, and the typed form on top of them."""
    version = version_in(visit.form)
    base = await account_versions.get_version(visit.store.pool, stored.account.user_id, version)
    before = base.account if base else Account(user_id=stored.account.user_id, version=0)
    other_changes = difference(before, stored.account)
    return _page(visit, stored, typed, other_changes=other_changes, base_version=version, status=409)


def _page(
    visit: Visit, stored: AccountVersion, typed: SettingsForm, *, status: int = 200, **values: object
) -> Response:
    empty: dict[str, object] = {"other_changes": None, "base_version": 0}
    parameters = visit.request.query_params
    return visit.render(
        "account_settings.html",
        status=status,
        account=stored.account.user_id,
        stored=stored,
        typed=typed,
        warnings=typed.warnings(visit.site.settings.classifiers),
        categories=KNOWN,
        designs=SUMMARIES,
        moderator_rows=moderator_fields.ROWS,
        filled_rows=moderator_fields.filled_rows(typed.fields),
        moderator_parts=MODERATOR_PARTS,
        endpoints=moderator_fields.endpoint_names(visit.site.settings.classifiers),
        failures=list(FailurePolicy),
        sections=SECTIONS,
        text_prefixes=mapping_fields.ROWS,
        line_examples=mapping_fields.LINES,
        kinds={name: kind_of(name) for name in SETTINGS},
        effective=settings_form.effective_settings(stored.account),
        may_edit=visit.may(Right.ADMIN, stored.account.user_id),
        saved=parameters.get("saved") == str(stored.account.version),
        same=parameters.get("same") == "1",
        new=parameters.get("new") == "1",
        tab="settings",
        **empty | values,
    )
