"""Accounts in memory: loaded once, swapped when newer, never more than fit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection

import pytest
import structlog

from tasks.entries import rulebooks as accounts
from tasks.entries.rulebooks import Rulebook, Rulebooks
from tests.support.samples import account
from worker.assessment import default_policy
from worker.cancellation import cancel_all
from worker.errors import StorageUnavailable
from worker.model import Account, Stage
from worker.rules import CompiledRules, compile_account_rules
from worker.rules.findings import rule_findings
from worker.running_rollouts import RunningRollout


class Store:
    """Stored accounts and a count of the loads."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.loads: list[str] = []
        self.errors: list[Exception] = []
        self.asked: list[set[str]] = []

    async def load(self, user_id: str) -> Account:
        """The newest version; version 0 of an unknown account."""
        self.loads.append(user_id)
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop()
        return self.accounts.get(user_id, Account(user_id=user_id, version=0))

    async def versions(self, user_ids: Collection[str]) -> dict[str, int]:
        """Versions of those that are stored."""
        self.asked.append(set(user_ids))
        return {each: self.accounts[each].version for each in user_ids if each in self.accounts}


@pytest.fixture
def store() -> Store:
    """One account, at version 3."""
    made = Store()
    made.accounts["acme"] = account(flagged_keywords=("spam",))
    return made


@pytest.fixture
def books(store: Store) -> Rulebooks:
    """An empty cache over it."""
    return Rulebooks(store.load, store.versions)


def matched_rules(book: Rulebook, text: str) -> list[str | None]:
    """The rules of a rulebook that match a text."""
    found = rule_findings(book.settings.rules, text, stage=Stage.RULES)
    return [each.matched_rule for each in found]


async def test_many_ask_and_one_loads(store: Store, books: Rulebooks) -> None:
    """A thousand events of one account at once are one query."""
    got = await asyncio.gather(*(books.get("acme") for _ in range(1000)))

    assert store.loads == ["acme"]
    assert {id(book) for book in got} == {id(got[0])}
    assert matched_rules(got[0], "cheap spam") == ["flagged_keyword:spam"]


async def test_one_that_gives_up_does_not_stop_the_others(store: Store, books: Rulebooks) -> None:
    """A drain cancels one event, not the load that others wait for."""
    first = asyncio.ensure_future(books.get("acme"))
    second = asyncio.ensure_future(books.get("acme"))
    await asyncio.sleep(0)
    first.cancel()

    assert (await second).account.version == 3
    assert store.loads == ["acme"]


async def test_a_failed_load_rises_and_is_retried(store: Store, books: Rulebooks) -> None:
    """The failure is not cached."""
    store.errors = [StorageUnavailable("away")]
    with pytest.raises(StorageUnavailable):
        await books.get("acme")

    assert (await books.get("acme")).account.version == 3
    assert store.loads == ["acme", "acme"]


async def test_the_least_recently_used_rulebook_is_dropped(
    store: Store, books: Rulebooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded for any number of accounts."""
    monkeypatch.setattr(accounts, "MOST_ACCOUNTS", 2)
    for user_id in ("a", "b", "a", "c", "a", "b"):
        await books.get(user_id)

    assert store.loads == ["a", "b", "c", "b"]


async def test_newer_versions_count_towards_the_bound(store: Store) -> None:
    """Accounts that grow while they are in memory leave it too."""
    books = Rulebooks(store.load, store.versions, most_rules=5)
    for version, words in ((1, ()), (2, ("a", "b", "c", "d"))):
        for user_id in ("x", "y"):
            store.accounts[user_id] = account(user_id=user_id, version=version, flagged_keywords=words)
            await books.get(user_id)
        await books.refresh()
    await books.get("x")

    assert store.loads == ["x", "y", "x", "y", "x"]


async def test_a_newer_version_replaces_the_older_one(store: Store, books: Rulebooks) -> None:
    """The old version stays in use until the new one is compiled; unchanged accounts are not loaded again."""
    before = await books.get("acme")
    await books.get("other")
    store.accounts["acme"] = account(version=4, flagged_keywords=("scam",))
    await books.refresh()
    after = await books.get("acme")

    assert (before.account.version, after.account.version) == (3, 4)
    assert matched_rules(after, "spam scam") == ["flagged_keyword:scam"]
    assert store.loads == ["acme", "other", "acme"]
    assert store.asked == [{"acme", "other"}]


async def test_nothing_in_memory_asks_nothing(store: Store, books: Rulebooks) -> None:
    """An idle worker costs no query."""
    await books.refresh()

    assert store.asked == []


async def test_an_invalid_policy_falls_back_to_the_default(store: Store, books: Rulebooks) -> None:
    """The account is still moderated and assessed when its stored policy is invalid."""
    store.accounts["acme"] = account(assessment_policy={"name": "astrology"})

    assert (await books.get("acme")).settings.policy == default_policy("calibrated")


async def test_every_problem_of_an_invalid_policy_is_counted(store: Store, books: Rulebooks) -> None:
    """The log line holds the number of wrong fields."""
    store.accounts["acme"] = account(
        assessment_policy={"name": "calibrated", "low_action": "dance", "unknown": 1}
    )
    with structlog.testing.capture_logs() as lines:
        await books.get("acme")

    assert [line["problems"] for line in lines if line["event"] == "policy_unusable"] == [2]


@pytest.fixture
async def refreshing(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rulebooks]:
    """A cache of two accounts whose refresh runs."""
    monkeypatch.setattr(accounts, "REFRESH_S", 0.01)
    books = Rulebooks(store.load, store.versions)
    store.accounts["shop"] = account(user_id="shop")
    for user_id in ("acme", "shop"):
        await books.get(user_id)
    running = asyncio.create_task(books.refresh_forever())
    yield books
    await cancel_all((running,))


async def switched_off(books: Rulebooks, user_id: str = "shop") -> Rulebook:
    """The rulebook once it is switched off, at most 2 s later."""
    return await once(books, user_id, lambda book: not book.account.ai_control_enabled)


async def once(books: Rulebooks, user_id: str, wanted: Callable[[Rulebook], bool]) -> Rulebook:
    """The rulebook once it is as wanted, at most 2 s later."""
    async with asyncio.timeout(2):
        while True:
            if wanted(book := await books.get(user_id)):
                return book
            await asyncio.sleep(0.01)


async def test_a_slow_account_delays_no_other_switch_off(store: Store, refreshing: Rulebooks) -> None:
    """While the newer version of one account takes long to load, another one is switched off."""
    released, load = asyncio.Event(), store.load

    async def slow(user_id: str) -> Account:
        if user_id == "acme":
            await released.wait()
        return await load(user_id)

    refreshing._load = slow
    store.accounts["acme"] = account(version=4)
    await asyncio.sleep(0.05)
    store.accounts["shop"] = account(user_id="shop", version=4, ai_control_enabled=False)
    await switched_off(refreshing)

    assert (await refreshing.get("acme")).account.version == 3
    released.set()


async def test_an_unreadable_account_stops_no_other_switch_off(store: Store, refreshing: Rulebooks) -> None:
    """An account whose newer version cannot be read keeps its rulebook and is named once in the log."""
    load = store.load

    async def broken(user_id: str) -> Account:
        if user_id == "acme":
            raise ValueError("a value of a newer release")
        return await load(user_id)

    refreshing._load = broken
    with structlog.testing.capture_logs() as lines:
        store.accounts["acme"] = account(version=4)
        store.accounts["shop"] = account(user_id="shop", version=4, ai_control_enabled=False)
        await switched_off(refreshing)
        await asyncio.sleep(0.05)

    assert [line["user_id"] for line in lines if line["event"] == "account_unreadable"] == ["acme"]


async def test_a_switch_off_waits_for_no_compilation(
    store: Store, refreshing: Rulebooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account that is switched off with new rules is off before they are compiled, and has them later."""
    compiled, original = threading.Event(), compile_account_rules

    def slow(changed: Account) -> CompiledRules:
        compiled.wait(5)
        return original(changed)

    monkeypatch.setattr(accounts, "compile_account_rules", slow)
    store.accounts["shop"] = account(
        user_id="shop", version=4, ai_control_enabled=False, flagged_keywords=("scam",)
    )
    try:
        book = await switched_off(refreshing)
    finally:
        compiled.set()
    assert book.rules_pending

    book = await once(refreshing, "shop", lambda book: not book.rules_pending)
    assert matched_rules(book, "a scam") == ["flagged_keyword:scam"]


async def test_unread_rollouts_hide_no_switch_off(store: Store, refreshing: Rulebooks) -> None:
    """While rollouts cannot be read, newer versions of accounts are still found."""

    async def unread(_: Collection[str]) -> dict[str, RunningRollout]:
        raise KeyError("changes")

    refreshing._rollouts = unread
    store.accounts["shop"] = account(user_id="shop", version=4, ai_control_enabled=False)

    assert (await switched_off(refreshing)).account.version == 4
