"""Large rule sets are compiled once for the fleet, and the cache keeps its bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from itertools import product
from typing import Any

import psycopg

from db.account_settings.compiled_rules import CompiledSets
from db.pool import Pool, create_pool
from tasks.entries.rulebooks import LARGE_SET, Rulebooks
from worker.model import Account
from worker.rules.build_id import build_id

WORDS = tuple("".join(letters) for letters in product("bdgklm", "aeiou", "bdgklm", "aeiou", "rst", "aeo"))
LARGE = (WORDS * 2)[: LARGE_SET - 1] + tuple(f"{word}x" for word in WORDS)


def account(user_id: str, *, version: int = 1) -> Account:
    """An account with a large set."""
    return Account(user_id=user_id, version=version, flagged_keywords=LARGE)


async def books(source: Pool, known: dict[str, Account], **more: Any) -> Rulebooks:
    """Rulebooks over accounts in memory and the real store."""

    async def load(user_id: str) -> Account:
        return known[user_id]

    async def versions(user_ids: Collection[str]) -> dict[str, int]:
        return {user_id: known[user_id].version for user_id in user_ids}

    return Rulebooks(load, versions, CompiledSets(source, build_id()), **more)


def rows(url: str) -> list[tuple[str, int]]:
    """Accounts and versions in the store."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT user_id, version FROM compiled_rules ORDER BY 1, 2").fetchall()
    return [(user_id, version) for user_id, version in found]


def test_a_large_set_is_compiled_once_and_loaded_by_the_others(database_url: str) -> None:
    """The second worker's set comes from the store and matches alike; a newer version replaces it."""

    async def work() -> tuple[object, ...]:
        async with create_pool(database_url, size=2, application="test") as source:
            known = {"large": account("large")}
            first = (await (await books(source, known)).get("large")).settings.rules
            second = (await (await books(source, known)).get("large")).settings.rules
            text = f"so {WORDS[7]} it is"
            known["large"] = account("large", version=2)
            await (await books(source, known)).get("large")
            return first.match(text), second.match(text), first is second

    first, second, same = asyncio.run(work())

    assert first == second != ()
    assert not same
    assert rows(database_url) == [("large", 2)]


def test_a_damaged_set_is_compiled_anew(database_url: str) -> None:
    """What cannot be read is never used."""

    async def work() -> int:
        async with create_pool(database_url, size=2, application="test") as source:
            await CompiledSets(source, build_id()).keep("damaged", 1, b"not a rule set")
            book = await (await books(source, {"damaged": account("damaged")})).get("damaged")
            return len(book.settings.rules.match(WORDS[3]))

    assert asyncio.run(work()) == 1


def test_the_cache_holds_no_more_rules_than_it_may(database_url: str) -> None:
    """The accounts used longest ago are forgotten; the newest stays however large."""

    async def work() -> list[str]:
        async with create_pool(database_url, size=2, application="test") as source:
            known = {name: account(name) for name in ("a", "b", "c")}
            cache = await books(source, known, most_rules=2 * len(LARGE))
            for name in known:
                await cache.get(name)
            await asyncio.sleep(0)
            return list(cache._books)

    assert asyncio.run(work()) == ["b", "c"]
