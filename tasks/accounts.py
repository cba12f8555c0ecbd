"""Accounts with their compiled rules, kept in memory and swapped when a newer version is stored."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final

import structlog

from worker.assessment import Policy, parse_policy
from worker.errors import PolicyRejected, StorageUnavailable
from worker.model import Account
from worker.rules import CompiledRules, compile_rules

log = structlog.get_logger(__name__)

REFRESH_S: Final = 0.5
MOST_ACCOUNTS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """One version of an account, ready to use."""

    account: Account
    rules: CompiledRules
    policy: Policy


class Rulebooks:
    """A bounded cache of rulebooks, least recently used out first.

    Args:
        load: the newest settings of an account.
        versions: the newest version of each of these accounts.
    """

    def __init__(
        self,
        load: Callable[[str], Awaitable[Account]],
        versions: Callable[[Collection[str]], Awaitable[dict[str, int]]],
    ) -> None:
        self._load = load
        self._versions = versions
        self._books: OrderedDict[str, asyncio.Future[Rulebook]] = OrderedDict()

    async def get(self, user_id: str) -> Rulebook:
        """The rulebook in force, at most ``REFRESH_S`` old.

        Raises:
            StorageUnavailable: it is not in memory and cannot be loaded.
        """
        future = self._books.get(user_id)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = asyncio.ensure_future(self._rulebook(user_id))
            self._books[user_id] = future
            while len(self._books) > MOST_ACCOUNTS:
                self._books.popitem(last=False)
        self._books.move_to_end(user_id)
        return await asyncio.shield(future)

    async def refresh_forever(self) -> None:
        """Look for newer versions every ``REFRESH_S`` until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                await self.refresh()
            except StorageUnavailable as error:
                log.warning("rules_not_refreshed", error=error.kind)

    async def refresh(self) -> None:
        """Load what is newer than the cache; the old rulebook serves until the new one is compiled."""
        ready = {user_id: future.result() for user_id, future in self._books.items() if _is_ready(future)}
        if not ready:
            return
        newest = await self._versions(ready.keys())
        for user_id, book in ready.items():
            if newest.get(user_id, 0) == book.account.version:
                continue
            fresh = await self._rulebook(user_id)
            done: asyncio.Future[Rulebook] = asyncio.get_running_loop().create_future()
            done.set_result(fresh)
            self._books[user_id] = done
            log.info("rules_swapped", user_id=user_id, version=fresh.account.version)

    async def _rulebook(self, user_id: str) -> Rulebook:
        account = await self._load(user_id)
        rules = await asyncio.to_thread(
            compile_rules,
            account.flagged_keywords,
            account.flagged_phrases,
            allow=account.allowed,
            version=account.version,
        )
        for problem in rules.problems:
            log.warning("rule_disabled", user_id=user_id, version=account.version, problem=problem.code)
        return Rulebook(account=account, rules=rules, policy=_policy(account))


def _is_ready(future: asyncio.Future[Rulebook]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _policy(account: Account) -> Policy:
    """The account's confidence policy; one that cannot be read gives way to the default, and is reported."""
    try:
        return parse_policy(dict(account.assessment_policy))
    except PolicyRejected as error:
        log.warning(
            "policy_unusable", user_id=account.user_id, version=account.version, problems=len(error.args)
        )
        return parse_policy({})
