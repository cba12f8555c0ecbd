"""Checking and storing the settings of an account: all changes or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from cli.options import database_url, own_connections, who
from cli.output import print_message
from db.account_settings import account_versions, accounts
from db.documents import storage
from db.pool import Pool
from worker.account_settings import RULES, AccountRejected, changed, rule_problems
from worker.model import Account
from worker.presets import new_account
from worker.rules import ProblemLevel, RuleProblem
from worker.rules.formats import RuleList

RECENT: Final = 1000


async def load(user_id: str) -> Account:
    """The settings in force; prints a line for an account without settings."""
    async with own_connections(database_url()) as source:
        await warn_without_settings(source, user_id)
        return await accounts.current_account(source, user_id)


async def create(user_id: str) -> int:
    """Store the first version of an account; its number.

    Raises:
        AccountRejected: the name cannot be used, or the account has settings already; nothing was stored.
    """
    account = new_account(user_id)
    async with own_connections(database_url()) as source:
        try:
            return await accounts.store_account(source, account, changed_by=who(), expected=0)
        except accounts.VersionMoved as moved:
            expected = f"expected a new account, but {user_id} has version {moved.in_force}"
            raise AccountRejected([("user_id", expected)]) from moved


async def save(user_id: str, changes: Mapping[str, Any]) -> int:
    """Store the settings in force with these changes; the new version. Prints warnings about rules.

    Raises:
        AccountRejected: a setting or a rule that cannot be used; nothing was stored.
    """
    async with own_connections(database_url()) as source:
        while True:
            account = changed(await accounts.current_account(source, user_id), changes)
            if not changes.keys().isdisjoint(RULES):
                recent = await accounts.recent_messages(source, user_id, RECENT)
                _require_no_errors(await asyncio.to_thread(rule_problems, account, recent))
            try:
                return await accounts.store_account(
                    source, account, changed_by=who(), expected=account.version
                )
            except accounts.VersionMoved:
                continue  # apply the changes to the version stored meanwhile


async def warn_without_settings(source: Pool, user_id: str) -> None:
    """Print one line when the account has no settings: its name may be misspelt."""
    if await account_versions.get_version(source, user_id) is not None:
        return
    near = get_close_matches(user_id, set(await storage.list_accounts(source)) - {user_id}, n=1)
    meant = f"; do you mean {near[0]}?" if near else ""
    print_message(f"account {user_id} has no settings yet{meant}", style="yellow")


def load_rules(user_id: str) -> RuleList:
    """The rules in force."""
    account = asyncio.run(load(user_id))
    return RuleList(keywords=account.flagged_keywords, phrases=account.flagged_phrases, allow=account.allowed)


def save_rules(user_id: str, rules: RuleList) -> int:
    """Replace the rules in force; the new version."""
    changes = {"flagged_keywords": rules.keywords, "flagged_phrases": rules.phrases, "allowed": rules.allow}
    return asyncio.run(save(user_id, {name: list(value) for name, value in changes.items()}))


def _require_no_errors(problems: tuple[RuleProblem, ...]) -> None:
    refused = [(f"rule {p.rule!r}", p.message) for p in problems if p.level is ProblemLevel.ERROR]
    if refused:
        raise AccountRejected(refused)
    for problem in problems:
        print_message(f"rule {problem.rule!r}: {problem.message}", style="yellow")
