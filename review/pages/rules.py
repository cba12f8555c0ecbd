"""The rules of an account: the editor, its checks while typing, the test box, saving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from db import account_versions, accounts
from db.access_log import Action
from db.account_versions import Version
from db.people import EVERY_ACCOUNT
from review.access import Right
from review.accounts import rule_trial
from review.accounts.account_changes import difference
from review.accounts.rule_texts import EDITOR_RULES, LISTS, Draft, Remark, count, fits, found_in
from review.accounts.rule_trial import RECENT, TEXT_CHARS, Trial
from review.web import Refused, Visit
from worker.account_settings import AccountRejected, changed
from worker.model import Account
from worker.rules import Level, ProblemLevel

NAME_CHARS: Final = 255
"""Longest name of an account, as ``worker.payload`` takes it."""
PAGE_RULES: Final = 100
MOST_SEARCH_CHARS: Final = 200


async def show(visit: Visit) -> Response:
    """The rules in force, or with ``version`` an older version, which can only be read."""
    user_id = account_named(visit)
    in_force = await account_versions.in_force(visit.store.pool, user_id)
    shown, asked = in_force, visit.request.query_params.get("version", "")
    if asked:
        shown = await version_named(visit, user_id, asked)
    values: dict[str, Any] = {}
    if visit.request.query_params.get("saved") == str(in_force.account.version):
        values = await _after_saving(visit, in_force)
    return _page(visit, in_force, shown=shown, **values)


async def save(visit: Visit) -> Response:
    """Store the rules as a new version, unless they are broken or somebody was faster."""
    stored, draft = await _opened(visit)
    if draft.version != stored.account.version:
        return await conflict(visit, stored, draft)
    account, remarks = await checked(visit, stored, draft)
    if account is None or any(each.level is ProblemLevel.ERROR for each in remarks):
        return _page(visit, stored, draft=draft, remarks=remarks, refused=True, status=422)
    if account == stored.account:
        return visit.redirect("rules", "same=1", account=account.user_id)
    try:
        version = await store(visit, stored.account, account, Action.RULES)
    except accounts.VersionMoved:
        return await conflict(visit, (await _opened(visit))[0], draft)
    return visit.redirect("rules", f"saved={version}", account=account.user_id)


async def check(visit: Visit) -> Response:
    """What is wrong or doubtful in the editor, without storing: while typing, or on a button."""
    stored, draft = await _opened(visit)
    if visit.partial:
        typed = sum(text.count("\n") + 1 for text in draft.texts.values())
        if typed > 2 * EDITOR_RULES or not (draft.whole or fits(stored.account)):
            return visit.render("rule_remarks.html", remarks=None, trial=None)
        _, remarks = await checked(visit, stored, draft)
        return visit.render("rule_remarks.html", remarks=remarks, trial=None)
    if made_from := str(visit.form.get("merge", "")):
        base = await version_named(visit, stored.account.user_id, made_from)
        draft = draft.merged(base.account, stored.account)
    account, remarks = await checked(visit, stored, draft)
    trial = await _trial(visit, account) if account else None
    return _page(visit, stored, draft=draft, remarks=remarks, trial=trial)


async def test(visit: Visit) -> Response:
    """What matches in a text, where and how: the rules as typed, or a stored version."""
    text = str(visit.form.get("text", ""))[:TEXT_CHARS]
    level = Level.STRICT if visit.form.get("level") == Level.STRICT else Level.DEFAULT
    stored, draft = await _opened(visit)
    shown, account = stored, stored.account
    typed = visit.may(Right.EDIT_RULES, account.user_id) and visit.form.get("of") == "typed"
    if not typed and draft.version != account.version:
        shown = await version_named(visit, account.user_id, str(draft.version))
        account = shown.account
    if typed:
        try:
            account = replace(changed(account, draft.changes(account)), version=0)
        except AccountRejected as error:
            raise Refused(422, "These rules cannot be tried", str(error)[:1000]) from error
    tried = await rule_trial.tried(account, text, level)
    if visit.partial:
        return visit.render("rule_hits.html", tried=tried, typed=typed, version=account.version)
    kept = draft if typed else None
    return _page(visit, stored, shown=shown, draft=kept, tried=tried, typed=typed, text=text)


async def conflict(visit: Visit, stored: Version, draft: Draft) -> Response:
    """Somebody stored meanwhile: both changes side by side, and the typed text ready to go on top."""
    made_from = await account_versions.one(visit.store.pool, stored.account.user_id, draft.version)
    base = made_from.account if made_from else Account(user_id=stored.account.user_id, version=0)
    try:
        mine = changed(base, draft.changes(base))
    except AccountRejected:
        mine = base
    return _page(
        visit,
        stored,
        draft=replace(draft, version=stored.account.version),
        theirs=difference(base, stored.account),
        mine=difference(base, mine),
        on_top=difference(stored.account, changed(stored.account, _lists(mine))),
        made_from=draft.version,
        status=409,
    )


async def checked(visit: Visit, stored: Version, draft: Draft) -> tuple[Account | None, tuple[Remark, ...]]:
    """The account with the rules of the editor, and what is to be said of them; None when it cannot be."""
    try:
        account = changed(stored.account, draft.changes(stored.account))
    except AccountRejected as error:
        return None, draft.refusals(stored.account, error)
    recent = await accounts.recent_messages(visit.store.pool, account.user_id, RECENT)
    return account, draft.remarks(stored.account, await rule_trial.problems_of(account, recent))


async def store(visit: Visit, before: Account, after: Account, action: Action, **detail: object) -> int:
    """Store on top of the version it was made from, with its line of the access log; the new version.

    Raises:
        Refused: 404, there is no such account, and it is not theirs to set up.
        VersionMoved: somebody was faster.
    """
    known(visit, before)
    change = difference(before, after)
    counts = {"from": before.version, "added": change.added, "removed": change.removed}
    titles = [each.title for each in change.settings]
    return await accounts.store(
        visit.store.pool,
        after,
        changed_by=visit.person.login,
        expected=before.version,
        logged=lambda version: visit.entry(
            action,
            user_id=after.user_id,
            detail=counts | {"version": version, "settings": titles} | detail,
        ),
    )


def account_named(visit: Visit) -> str:
    """The account in the page's address.

    Raises:
        Refused: 404, no account can be called so.
    """
    user_id = str(visit.request.path_params["account"])
    if not 0 < len(user_id) <= NAME_CHARS or user_id == EVERY_ACCOUNT:
        raise Refused(404, "No such account", f"user_id: expected 1 to {NAME_CHARS} characters and not *.")
    return user_id


def known(visit: Visit, stored: Account) -> None:
    """Refuse what would set up an account, to everybody but its administrators.

    Raises:
        Refused: 404.
    """
    if stored.version == 0 and not visit.may(Right.ADMIN, stored.user_id):
        raise Refused(
            404,
            "No such account",
            f"{stored.user_id} has no settings yet. Its administrators can set it up, at Accounts.",
        )


async def version_named(visit: Visit, user_id: str, version: str) -> Version:
    """A stored version.

    Raises:
        Refused: 404.
    """
    known = version.isascii() and version.isdigit() and len(version) <= 9
    found = await account_versions.one(visit.store.pool, user_id, int(version)) if known else None
    if found is None:
        if version == "0":
            return Version(account=Account(user_id=user_id, version=0), changed_by="", changed_at=None)
        raise Refused(404, "No such version", f"{user_id} has no version {version[:40]}.")
    return found


async def _opened(visit: Visit) -> tuple[Version, Draft]:
    in_force = await account_versions.in_force(visit.store.pool, account_named(visit))
    return in_force, Draft.read(visit.form)


async def _after_saving(visit: Visit, stored: Version) -> dict[str, Any]:
    recent = await accounts.recent_messages(visit.store.pool, stored.account.user_id, RECENT)
    problems = await rule_trial.problems_of(stored.account, recent)
    return {
        "saved": True,
        "remarks": Draft.of(stored.account).remarks(stored.account, problems),
        "trial": await _trial(visit, stored.account),
    }


async def _trial(visit: Visit, account: Account) -> Trial:
    decisions = await accounts.recent_decisions(visit.store.pool, account.user_id, RECENT)
    found = await rule_trial.trial(account, decisions, visit.person.covered)
    shown = [str(each.decision_id) for each in found.examples if not each.covered]
    if shown:
        await visit.log(Action.READ, user_id=account.user_id, detail={"page": "rules", "decisions": shown})
    return found


def _lists(account: Account) -> dict[str, list[str]]:
    return {name: list(getattr(account, name)) for name in LISTS}


def _page(
    visit: Visit,
    stored: Version,
    *,
    shown: Version | None = None,
    draft: Draft | None = None,
    status: int = 200,
    **values: object,
) -> Response:
    """The page: the editor for who may edit the version in force, else the rules to read."""
    shown = shown or stored
    defaults: dict[str, Any] = {
        "remarks": None, "trial": None, "tried": None, "typed": True, "text": "",
        "saved": False, "refused": False, "theirs": None, "mine": None, "on_top": None, "made_from": 0,
    }  # fmt: skip
    set_up = stored.account.version > 0 or visit.may(Right.ADMIN, stored.account.user_id)
    may_edit = set_up and visit.may(Right.EDIT_RULES, stored.account.user_id) and shown is stored
    return visit.render(
        "rules.html",
        status=status,
        account=stored.account.user_id,
        stored=stored,
        shown=shown,
        draft=draft or Draft.of(shown.account),
        may_edit=may_edit,
        lists=LISTS,
        total=count(shown.account),
        listing=_listing(visit, shown.account),
        same=visit.request.query_params.get("same") == "1",
        tab="rules",
        **defaults | values,
    )


def _listing(visit: Visit, account: Account) -> dict[str, Any] | None:
    """A page of the rules when they are too many for a text area."""
    if fits(account):
        return None
    search = visit.request.query_params.get("find", "")[:MOST_SEARCH_CHARS]
    found = found_in(account, search)
    asked = visit.request.query_params.get("page", "1")
    last = max(1, -(-len(found) // PAGE_RULES))
    page = min(last, max(1, int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1))
    rows = found[(page - 1) * PAGE_RULES : page * PAGE_RULES]
    return {"search": search, "found": len(found), "page": page, "last": last, "rows": rows}
