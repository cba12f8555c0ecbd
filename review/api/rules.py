"""Rules of an account by the JSON API: read them, store a new version."""

from __future__ import annotations

from starlette.responses import Response

from db.access_log import LoggedAction
from review.accounts.rule_texts import LINE, LISTS, Remark, RuleEdit
from review.accounts.rules_page import checked_account
from review.accounts.stored_versions import require_known_account, store_version, version_in_force
from review.api.body import answer, read_body, unusable
from review.api.change_shapes import NewRules
from review.http.field_problems import FieldProblem
from review.http.visit import Refused, Visit
from worker.model import Account
from worker.rules import ProblemLevel


async def show_rules(visit: Visit) -> Response:
    """The rules in force."""
    found = await version_in_force(visit)
    account = found.account
    facts = {"user_id": account.user_id, "version": account.version}
    changed = {"changed_by": found.changed_by, "changed_at": found.changed_at}
    return answer(facts | changed | {name: getattr(account, name) for name in LISTS})


async def store_rules(visit: Visit) -> Response:
    """Store a new version; 409 when another one is in force, 422 with errors in rules."""
    stored, body = await version_in_force(visit), await read_body(visit, NewRules)
    require_known_account(visit, stored.account)
    if body.version != stored.account.version:
        raise _conflict(stored.account.version)
    account, remarks = await checked_account(visit, stored, _edit(stored.account, body))
    errors = [_problem(each) for each in remarks if each.level is ProblemLevel.ERROR]
    if account is None or errors:
        raise unusable(errors)
    version: int | None = stored.account.version
    if account != stored.account:
        version = await store_version(visit, stored.account, account, LoggedAction.RULES, api=True)
    if version is None:
        raise _conflict((await version_in_force(visit)).account.version)
    warnings = [f"{each.name}.{each.line - 1}: {each.text}" for each in remarks]
    return answer({"version": version, "changed": account != stored.account, "warnings": warnings})


def _edit(account: Account, body: NewRules) -> RuleEdit:
    """The lists as the rule editor has them: one line a rule."""
    lists = {name: getattr(body, name) for name in LISTS}
    chosen = {name: getattr(account, name) if rules is None else rules for name, rules in lists.items()}
    texts = {name: "\n".join(LINE.sub(" ", rule) for rule in rules) for name, rules in chosen.items()}
    return RuleEdit(version=body.version, texts=texts)


def _problem(remark: Remark) -> FieldProblem:
    field = f"{remark.name or 'data'}.{remark.line - 1}" if remark.line else remark.name or "data"
    return FieldProblem(field=field, expected=f"a usable rule ({remark.text})", got=remark.rule[:120])


def _conflict(version: int) -> Refused:
    text = f"Version {version} is in force now. Nothing was stored: read the rules and change them again."
    return Refused(409, "Another version is in force", text)
