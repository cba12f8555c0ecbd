"""One word or phrase as a rule: what it would have stopped, then adding it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.responses import Response

from db.access_log import LoggedAction
from review.access import Right
from review.accounts.rule_matches import load_recent_matches, problems_of
from review.accounts.stored_versions import require_known_account, store_change, version_in_force
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.panels import load_panels
from review.typed.problems import problem_wording
from worker.account_settings import AccountRejected, changed
from worker.model import Account
from worker.rules import ProblemLevel

MOST_CHARS: Final = 1_000


async def show_one_rule(visit: Visit) -> Response:
    """What a word would have stopped among the recent messages of the account."""
    return await _page(visit, (await version_in_force(visit)).account, visit.request.query_params)


async def add_one_rule(visit: Visit) -> Response:
    """Store the word as a rule, unless it has an error."""
    stored, word = (await version_in_force(visit)).account, _word(visit.form)
    after, problem = await _with_rule(stored, word)
    if after is None:
        return await _page(visit, stored, visit.form, problem=problem, status=422)
    answer = await store_change(visit, stored, after, LoggedAction.RULES)
    if answer is None:
        raise Refused(409, "Another person saved meanwhile", "Nothing was stored. Add the word again.")
    return answer


def _word(fields: Mapping[str, Any]) -> str:
    """The word or phrase, with single spaces."""
    return " ".join(str(fields.get("word", ""))[: MOST_CHARS + 1].split())


def _list_of(word: str) -> str:
    return "flagged_phrases" if " " in word else "flagged_keywords"


async def _with_rule(account: Account, word: str) -> tuple[Account | None, str]:
    """The account with the rule; None with the problem when the rule has an error."""
    if not word:
        return None, _("Type a word or a phrase.")
    name = _list_of(word)
    rules = list(getattr(account, name))
    try:
        after = changed(account, {name: rules if word in rules else [*rules, word]})
        problems = await problems_of(_alone(account, word), ())
    except AccountRejected as error:
        return None, "; ".join(problem_wording(text) for _place, text in error.problems)
    errors = [each.message for each in problems if each.level is ProblemLevel.ERROR]
    return (None, "; ".join(errors)) if errors else (after, "")


def _alone(account: Account, word: str) -> Account:
    """The account with this rule only, and its allowed texts."""
    if _list_of(word) == "flagged_phrases":
        return replace(account, flagged_keywords=(), flagged_phrases=(word,))
    return replace(account, flagged_keywords=(word,), flagged_phrases=())


async def _page(
    visit: Visit, account: Account, fields: Mapping[str, Any], *, problem: str = "", status: int = 200
) -> Response:
    require_known_account(visit, account)
    word, after = _word(fields), None
    if word and not problem:
        after, problem = await _with_rule(account, word)
    known = word in getattr(account, _list_of(word))
    return visit.render(
        "owner/one_rule.html",
        status=status,
        account=account.user_id,
        word=word,
        problem=problem,
        known=known,
        matches=await load_recent_matches(visit, _alone(account, word)) if after else None,
        preview=(await load_panels("change", visit, after)).html if after and not known else None,
        may_edit=visit.may(Right.EDIT_RULES, account.user_id),
        tab="rules",
    )
