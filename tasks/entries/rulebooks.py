"""A cache of accounts with their compiled rules, refreshed when a newer version is stored."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import structlog

from worker.account_settings import AccountRejected, changed
from worker.assessment.policies.designs import NO_DEFAULTS
from worker.cancellation import cancel_all
from worker.errors import RuleRejected, StorageUnavailable
from worker.model import Account, ConversationState, Event, Json, Owner
from worker.rules import CompiledRules, compile_account_rules, rule_settings
from worker.running_rollouts import RunningRollout
from worker.steps.run import PinnedSettings, pinned_settings

log = structlog.get_logger(__name__)

REFRESH_S: Final = 0.5
MOST_REFRESHING: Final = 64
"""Accounts whose newer version is loaded at once; the others follow with the next look."""
MOST_ACCOUNTS: Final = 10_000
MOST_RULES: Final = 300_000
"""About 240 MB: a set of 100,000 words took 81 MB (measured, Python 3.11)."""

LARGE_SET: Final = 5_000
"""From this many rules, loading a compiled set is much faster than compiling it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """One version of an account, ready to use.

    Attributes:
        candidate_id: the candidate whose changes the account has; None: the settings in force.
        rollout: the account's running rollout.
        candidate: the rulebook of the rollout's candidate; None without a usable candidate.
        rules_pending: the account is switched off, and the compiled rules are of an earlier version.
    """

    settings: PinnedSettings
    candidate_id: UUID | None = None
    rollout: RunningRollout | None = None
    candidate: Rulebook | None = None
    rules_pending: bool = False

    def for_event(self, event: Event, conversation: ConversationState) -> Rulebook:
        """The rulebook that decides an event: the candidate's where the rollout takes its conversation.

        Conversations that people own keep the settings in force.
        """
        if self.rollout is None or self.candidate is None or conversation.owner is Owner.PEOPLE:
            return self
        return self.candidate if self.rollout.takes(event.conversation_id) else self

    @property
    def counts_authors(self) -> bool:
        """Whether the rules in force, or those of the candidate, read what is counted of authors."""
        books = (self, self.candidate) if self.candidate else (self,)
        return any(each.settings.rules.counts_authors for each in books)

    @property
    def account(self) -> Account:
        """The version of the account."""
        return self.settings.account


class CompiledStore(Protocol):
    """A store of large compiled sets, shared by all workers."""

    async def stored(self, user_id: str, version: int) -> bytes | None:
        """A set that a worker has compiled, or None."""

    async def keep(self, user_id: str, version: int, data: bytes) -> None:
        """Store a set for the other workers."""


class Rulebooks:
    """A bounded cache of rulebooks; the least recently used leaves first.

    Args:
        compiled: shares large compiled sets; None compiles every set here.
        most_rules: rules in memory over all accounts; the newest rulebook always stays.
        policy_defaults: the deployment's defaults by policy and field.
        rollouts: the running rollouts of accounts.
    """

    def __init__(
        self,
        load: Callable[[str], Awaitable[Account]],
        versions: Callable[[Collection[str]], Awaitable[dict[str, int]]],
        compiled: CompiledStore | None = None,
        most_rules: int = MOST_RULES,
        policy_defaults: Mapping[str, Mapping[str, Json]] = NO_DEFAULTS,
        *,
        rollouts: Callable[[Collection[str]], Awaitable[Mapping[str, RunningRollout]]] | None = None,
    ) -> None:
        self._rollouts = rollouts
        self._policy_defaults = policy_defaults
        self._load = load
        self._versions = versions
        self._compiled = compiled
        self._most_rules = most_rules
        self._books: OrderedDict[str, asyncio.Future[Rulebook]] = OrderedDict()
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._unreadable: dict[str, int] = {}

    async def get(self, user_id: str) -> Rulebook:
        """The rulebook in force.

        A switch-off is in use after ``REFRESH_S`` and one query; other changes once they are compiled.

        Raises:
            StorageUnavailable: it is not in memory and cannot be loaded.
        """
        future = self._books.get(user_id)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = asyncio.ensure_future(self._rulebook(user_id))
            self._books[user_id] = future
            future.add_done_callback(lambda _: self._make_room())
        self._books.move_to_end(user_id)
        return await asyncio.shield(future)

    def _make_room(self) -> None:
        """Drop the least recently used accounts until both bounds hold."""
        rules = sum(_size(future) for future in self._books.values())
        while len(self._books) > 1 and (len(self._books) > MOST_ACCOUNTS or rules > self._most_rules):
            _, oldest = self._books.popitem(last=False)
            rules -= _size(oldest)

    async def refresh_forever(self) -> None:
        """Look for newer versions every ``REFRESH_S`` until cancelled."""
        try:
            while True:
                await asyncio.sleep(REFRESH_S)
                try:
                    await self.begin_refresh()
                except StorageUnavailable as error:
                    log.warning("rules_not_refreshed", error=error.kind)
        finally:
            await cancel_all(self._refreshing.values())

    async def refresh(self) -> None:
        """Load newer versions, and return when all of them are in use."""
        await self.begin_refresh()
        while self._refreshing:
            await asyncio.wait(tuple(self._refreshing.values()))

    async def begin_refresh(self) -> None:
        """Look for newer versions and begin to load them, each account in a task of its own.

        An account that is slow, or cannot be read, delays no other account; its old rulebook stays in use.
        """
        ready = {user_id: future.result() for user_id, future in self._books.items() if _is_ready(future)}
        if not ready:
            return
        newest, running = await self._versions(ready.keys()), await self._running_or_none(ready.keys())
        for user_id, book in ready.items():
            version = newest.get(user_id, 0)
            rollout = book.rollout if running is None else running.get(user_id)
            in_use = (book.account.version, book.rollout, book.rules_pending)
            if in_use == (version, rollout, False):
                continue
            if user_id in self._refreshing or len(self._refreshing) >= MOST_REFRESHING:
                continue
            task = asyncio.create_task(self._refresh_account(user_id, book, version, rollout))
            self._refreshing[user_id] = task
            task.add_done_callback(partial(self._refreshed, user_id))

    def _refreshed(self, user_id: str, _: asyncio.Task[None]) -> None:
        self._refreshing.pop(user_id, None)

    async def _refresh_account(
        self, user_id: str, book: Rulebook, version: int, rollout: RunningRollout | None
    ) -> None:
        try:
            if version != book.account.version or book.rules_pending:
                book = await self._newest(book)
                self._swap(book)
            if rollout != book.rollout:
                self._swap(await self._with_candidate(book, rollout))
            self._unreadable.pop(user_id, None)
        except StorageUnavailable as error:
            log.warning("rules_not_refreshed", user_id=user_id, error=error.kind)
        except Exception as error:  # the other accounts must be refreshed
            if self._unreadable.get(user_id) != version:  # once, not with each look
                self._unreadable[user_id] = version
                log.exception("account_unreadable", user_id=user_id, version=version, exc_info=error)

    async def _newest(self, book: Rulebook) -> Rulebook:
        """The newest version; a switch-off is in use before its changed rules are compiled."""
        account = await self._load(book.account.user_id)
        if not book.rules_pending and rule_settings(account) == rule_settings(book.account):
            return self._book(account, book.settings.rules.at_version(account.version))
        if not account.ai_control_enabled:
            switched_off = self._book(account, book.settings.rules.at_version(account.version))
            self._swap(replace(switched_off, rules_pending=True))
        return self._book(account, await self._rules(account))

    def _swap(self, book: Rulebook) -> None:
        user_id = book.account.user_id
        if user_id not in self._books:  # dropped meanwhile
            return
        done: asyncio.Future[Rulebook] = asyncio.get_running_loop().create_future()
        done.set_result(book)
        self._books[user_id] = done
        self._make_room()
        log.info("rules_swapped", user_id=user_id, version=book.account.version)

    async def _running(self, user_ids: Collection[str]) -> Mapping[str, RunningRollout]:
        return {} if self._rollouts is None else await self._rollouts(user_ids)

    async def _running_or_none(self, user_ids: Collection[str]) -> Mapping[str, RunningRollout] | None:
        """None when they cannot be read: that must not hide newer versions."""
        try:
            return await self._running(user_ids)
        except Exception as error:  # noqa: BLE001  # newer versions are in another table
            log.warning("rollouts_not_read", error=type(error).__name__)
            return None

    async def _rulebook(self, user_id: str) -> Rulebook:
        account = await self._load(user_id)
        book = self._book(account, await self._rules(account))
        return await self._with_candidate(book, (await self._running((user_id,))).get(user_id))

    async def _with_candidate(self, live: Rulebook, rollout: RunningRollout | None) -> Rulebook:
        """The rulebook in force with a rollout; only another candidate is compiled."""
        if rollout is None or rollout.base_version != live.account.version:
            return replace(live, rollout=rollout, candidate=None)
        if live.candidate is not None and live.candidate.candidate_id == rollout.candidate_id:
            return replace(live, rollout=rollout)
        try:
            account = changed(live.account, rollout.changes)
        except AccountRejected as error:  # stored by another release
            log.warning("rollout_unusable", user_id=rollout.user_id, problems=len(error.problems))
            return replace(live, rollout=rollout, candidate=None)
        book = self._book(account, await asyncio.to_thread(compile_account_rules, account))
        return replace(live, rollout=rollout, candidate=replace(book, candidate_id=rollout.candidate_id))

    def _book(self, account: Account, rules: CompiledRules) -> Rulebook:
        user_id = account.user_id
        for problem in rules.problems:
            log.warning("rule_disabled", user_id=user_id, version=account.version, problem=problem.code)
        settings = pinned_settings(account, self._policy_defaults, rules)
        if problems := len(settings.policy_problems):
            log.warning("policy_unusable", user_id=user_id, version=account.version, problems=problems)
        return Rulebook(settings=settings)

    async def _rules(self, account: Account) -> CompiledRules:
        """The compiled set; a large one comes from the shared store, or is compiled and stored there."""
        if self._compiled is None or _rule_count(account) < LARGE_SET:
            return await asyncio.to_thread(compile_account_rules, account)
        data = await self._compiled.stored(account.user_id, account.version)
        if data is not None:
            try:
                return await asyncio.to_thread(CompiledRules.from_bytes, data)
            except RuleRejected:
                log.warning("compiled_rules_damaged", user_id=account.user_id, version=account.version)
        rules = await asyncio.to_thread(compile_account_rules, account)
        await self._compiled.keep(account.user_id, account.version, rules.to_bytes())
        return rules


def _rule_count(account: Account) -> int:
    return len(account.flagged_keywords) + len(account.flagged_phrases) + len(account.allowed)


def _size(future: asyncio.Future[Rulebook]) -> int:
    if not _is_ready(future):
        return 0
    book = future.result()
    return sum(_rule_count(each.account) for each in (book, book.candidate) if each is not None)


def _is_ready(future: asyncio.Future[Rulebook]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
