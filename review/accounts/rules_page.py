"""The rules page of an account: editor, checks while typing, test box, saving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions, accounts
from db.account_settings.account_versions import AccountVersion
from review.access import Right
from review.accounts import rule_matches
from review.accounts.account_changes import difference
from review.accounts.rule_matches import RECENT, TEXT_CHARS, load_recent_matches
from review.accounts.rule_texts import EDITOR_RULES, LISTS, Remark, RuleEdit, fits_editor, rules_containing
from review.accounts.stored_versions import store_change, stored_version, version_in_force
from review.http.numbers import page_of
from review.http.visit import Refused, Visit
from review.panels import load_panels
from worker.account_settings import AccountRejected, changed
from worker.model import Account, RuleLevel
from worker.rules import ProblemLevel

PAGE_RULES: Final = 100
MOST_SEARCH_CHARS: Final = 200


async def show_rules(visit: Visit) -> Response:
    """The rules in force, or with ``version`` an older version, read-only."""
    in_force, parameters = await version_in_force(visit), visit.request.query_params
    shown = in_force
    if number := parameters.get("version", ""):
        shown = await stored_version(visit, in_force.account.user_id, number)
    values: dict[str, Any] = {}
    if parameters.get("saved") == str(in_force.account.version):
        values = await _after_saving(visit, in_force)
    return _page(visit, in_force, shown=shown, **values)


async def save_rules(visit: Visit) -> Response:
    """Store the rules as a new version; refused with errors in rules or a newer version in force."""
    in_force, edit = await version_in_force(visit), RuleEdit.read(visit.form)
    if edit.version != in_force.account.version:
        return await _conflict(visit, in_force, edit)
    account, remarks = await checked_account(visit, in_force, edit)
    if account is None or any(each.level is ProblemLevel.ERROR for each in remarks):
        return _page(visit, in_force, edit=edit, remarks=remarks, refused=True, status=422)
    answer = await store_change(visit, in_force.account, account, LoggedAction.RULES)
    return answer or await _conflict(visit, await version_in_force(visit), edit)


async def check_rules(visit: Visit) -> Response:
    """The errors and warnings of the rules in the editor, without storing: while typing, or on a button."""
    in_force, edit = await version_in_force(visit), RuleEdit.read(visit.form)
    if visit.partial:
        typed = sum(text.count("\n") + 1 for text in edit.texts.values())
        if typed > 2 * EDITOR_RULES or not (edit.complete or fits_editor(in_force.account)):
            return visit.render("rule_remarks.html", remarks=None, matches=None)
        _, remarks = await checked_account(visit, in_force, edit)
        return visit.render("rule_remarks.html", remarks=remarks, matches=None)
    if base_version := visit.field("merge"):
        base = await stored_version(visit, in_force.account.user_id, base_version)
        edit = edit.merged(base.account, in_force.account)
    account, remarks = await checked_account(visit, in_force, edit)
    matches = await load_recent_matches(visit, account) if account else None
    preview = (await load_panels("change", visit, account)).html if account else None
    return _page(visit, in_force, edit=edit, remarks=remarks, matches=matches, preview=preview)


async def show_text_matches(visit: Visit) -> Response:
    """The matches in a text of the rules as typed, or of a stored version."""
    text = visit.field("text")[:TEXT_CHARS]
    in_force, edit = await version_in_force(visit), RuleEdit.read(visit.form)
    shown, account = in_force, in_force.account
    typed = visit.may(Right.EDIT_RULES, account.user_id) and visit.form.get("of") == "typed"
    if not typed and edit.version != account.version:
        shown = await stored_version(visit, account.user_id, str(edit.version))
        account = shown.account
    if typed:
        try:
            account = replace(changed(account, edit.changes(account)), version=0)
        except AccountRejected as error:
            raise Refused(422, "These rules cannot be tried", str(error)[:1000]) from error
    if (level := visit.form.get("level")) in set(RuleLevel):
        account = replace(account, rule_level=RuleLevel(level))
    text_matches = await rule_matches.try_text(account, text)
    if visit.partial:
        return visit.render("rule_hits.html", text_matches=text_matches, typed=typed, version=account.version)
    shown_edit = edit if typed else None
    return _page(
        visit, in_force, shown=shown, edit=shown_edit, text_matches=text_matches, typed=typed, text=text
    )


async def _conflict(visit: Visit, in_force: AccountVersion, edit: RuleEdit) -> Response:
    """Another person stored a version meanwhile: both changes side by side, above the edited text."""
    base_version = await account_versions.get_version(
        visit.store.pool, in_force.account.user_id, edit.version
    )
    base = base_version.account if base_version else Account(user_id=in_force.account.user_id, version=0)
    try:
        edited = changed(base, edit.changes(base))
    except AccountRejected:
        edited = base
    return _page(
        visit,
        in_force,
        edit=replace(edit, version=in_force.account.version),
        other_changes=difference(base, in_force.account),
        own_changes=difference(base, edited),
        changes_if_saved=difference(
            in_force.account, changed(in_force.account, {name: list(getattr(edited, name)) for name in LISTS})
        ),
        base_version=edit.version,
        status=409,
    )


async def checked_account(
    visit: Visit, in_force: AccountVersion, edit: RuleEdit
) -> tuple[Account | None, tuple[Remark, ...]]:
    """The account with the rules of the editor, or None when it is rejected, and the remarks."""
    try:
        account = changed(in_force.account, edit.changes(in_force.account))
    except AccountRejected as error:
        return None, edit.refusals(in_force.account, error)
    recent = await accounts.recent_messages(visit.store.pool, account.user_id, RECENT)
    return account, edit.remarks(in_force.account, await rule_matches.problems_of(account, recent))


async def _after_saving(visit: Visit, in_force: AccountVersion) -> dict[str, Any]:
    recent = await accounts.recent_messages(visit.store.pool, in_force.account.user_id, RECENT)
    problems = await rule_matches.problems_of(in_force.account, recent)
    return {
        "saved": True,
        "remarks": RuleEdit.of(in_force.account).remarks(in_force.account, problems),
        "matches": await load_recent_matches(visit, in_force.account),
    }


def _page(
    visit: Visit,
    in_force: AccountVersion,
    *,
    shown: AccountVersion | None = None,
    edit: RuleEdit | None = None,
    status: int = 200,
    **values: object,
) -> Response:
    """The page: the editor for people with the right to edit, on the version in force; else a list."""
    shown = shown or in_force
    defaults: dict[str, Any] = {
        "remarks": None, "matches": None, "preview": None, "text_matches": None, "typed": True, "text": "",
        "saved": False, "refused": False, "base_version": 0,
        "other_changes": None, "own_changes": None, "changes_if_saved": None,
    }  # fmt: skip
    set_up = in_force.account.version > 0 or visit.may(Right.ADMIN, in_force.account.user_id)
    may_edit = set_up and visit.may(Right.EDIT_RULES, in_force.account.user_id) and shown is in_force
    return visit.render(
        "rules.html",
        status=status,
        account=in_force.account.user_id,
        in_force=in_force,
        shown=shown,
        edit=edit or RuleEdit.of(shown.account),
        may_edit=may_edit,
        lists=LISTS,
        total=sum(len(getattr(shown.account, name)) for name in LISTS),
        listing=_listing(visit, shown.account),
        same=visit.request.query_params.get("same") == "1",
        tab="rules",
        **defaults | values,
    )


def _listing(visit: Visit, account: Account) -> dict[str, Any] | None:
    """A page of the rules when they are too many for a text area."""
    if fits_editor(account):
        return None
    search = visit.request.query_params.get("find", "")[:MOST_SEARCH_CHARS]
    found = rules_containing(account, search)
    page, last, rows = page_of(found, visit.request.query_params.get("page", "1"), PAGE_RULES)
    return {"search": search, "found": len(found), "page": page, "last": last, "rows": rows}
