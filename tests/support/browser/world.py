"""What the pages show in browser tests: real decisions of every kind, made by the engine on the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from cli.demo import events, sample_reviewers, seed
from db.account_settings import accounts
from db.people.records import Person, Role
from db.pool import create_pool
from db.review_store import Store
from review.content_covers import CATEGORIES
from sandbox.server import SandboxHandle
from tasks.publishing.publish import append
from tests.integration.test_outcomes import OUTCOMES
from tests.support.conversing import SCENARIOS, conversation_ending
from tests.support.review_world import found_suggestions
from tests.support.reviewing import add_person
from tests.support.running import Running, eventually, running
from worker.account_settings import changed

SHOP: Final = "corner-shop"
CHANNEL: Final = "music-channel"
HOSTILE: Final = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'>",
    "'-document.title='owned'-'",
    "javascript:document.title='owned'",
    "{{ 7 * 7 }} ${7*7} <b hx-get=/sign-out hx-trigger=load>",
    "</textarea></title></style><iframe src=javascript:alert(1)>",
    '=HYPERLINK("https://elsewhere.example","open")',
    "\N{RIGHT-TO-LEFT OVERRIDE}evig ot nepo \N{ZERO WIDTH SPACE}" + "W" * 400,
)
"""What somebody may write to an account in the hope that a page of ours believes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What was seeded.

    Attributes:
        people: by role; ``everything`` has every role.
        endings: reason code -> id of a decision that ended so.
        hostile: ids of decisions on hostile texts.
    """

    running: Running
    people: dict[str, Person]
    endings: dict[str, str]
    hostile: tuple[str, ...]

    @property
    def url(self) -> str:
        """Of the database."""
        return self.running.url

    def decision(self, account: str, reason: str) -> str:
        """Id of the newest decision of an account that ended for this reason without a fault asked for."""
        row = self.running.row(
            "SELECT id FROM ai_decisions WHERE user_id = %s AND reason_code = %s"
            " AND message_text <> ALL(%s) ORDER BY created_at DESC LIMIT 1",
            account,
            reason,
            [fault["contains"] for fault in events.sandbox_faults()],
        )
        assert row is not None, (account, reason)
        return str(row["id"])


@contextmanager
def world(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[World]:
    """Fill a database; the engine goes on running, for decisions that are made while somebody looks."""
    asyncio.run(seed.accounts_and_documents(database_url))
    people = _people(database_url)
    with running(database_url, redis_url, sandbox) as engine:
        _cover(engine, people["covered"].login)
        endings = _endings(engine)
        hostile = tuple(str(_hostile(engine, text)["id"]) for text in HOSTILE)
        with sandbox.faulty(events.sandbox_faults()):
            _demo(engine)
        asyncio.run(_colleagues(database_url))
        asyncio.run(_another_version(database_url))
        _suggestions(engine)
        yield World(running=engine, people=people, endings=endings, hostile=hostile)


async def _colleagues(url: str) -> None:
    """Reviews, a queue and second readings, as in the demo."""
    async with Store(url, size=1) as store:
        await sample_reviewers.add_reviews(store)


async def _another_version(url: str) -> None:
    """A change of the shop's rules, so that there is something to compare."""
    async with create_pool(url, size=1, application="test", role=None) as source:
        shop = await accounts.current_account(source, SHOP)
        keywords = [*shop.flagged_keywords, "counterfeit"]
        await accounts.store_account(source, changed(shop, {"flagged_keywords": keywords}), changed_by="ada")


def _suggestions(engine: Running) -> None:
    """A suggestion of each kind for the shop, resting on one of its decisions."""
    query = "SELECT id, created_at FROM ai_decisions WHERE user_id = %s ORDER BY created_at LIMIT 1"
    row = engine.row(query, SHOP)
    assert row is not None
    found = found_suggestions(row["id"], row["created_at"], lambda field: field)
    material = Jsonb({"days": 90, "reviewed": 212, "sent": 4180, "questions": 96})
    engine.database.execute(
        "INSERT INTO learning_suggestions (user_id, begun_at, computed_at, material, found)"
        " VALUES (%s, now(), now(), %s, %s)",
        (SHOP, material, Jsonb(found)),
    )


def _cover(engine: Running, login: str) -> None:
    """Cover everything that can be covered for one person."""
    engine.database.execute("UPDATE people SET covered = %s WHERE login = %s", (list(CATEGORIES), login))


def _people(url: str) -> dict[str, Person]:
    named = {
        "everything": add_person(url, *Role, login="ada"),
        "covered": add_person(url, *Role, login="carl"),
        "shop owner": add_person(url, Role.OWNER, account=SHOP, login="olga"),
        "second reviewer": add_person(url, Role.REVIEWER, login="rolf"),
    }
    return named | {role.value: add_person(url, role, login=f"{role.value}-of-all") for role in Role}


def _endings(engine: Running) -> dict[str, str]:
    """One decision for every reason there is."""
    endings = {}
    for wanted in OUTCOMES:
        engine.sandbox.reset()
        for rule in wanted.rules:
            engine.sandbox.add_rule(**rule)
        account = engine.account(documents=wanted.documents, **wanted.settings)
        endings[wanted.reason.value] = str(engine.decide(account, wanted.text, **wanted.event)["id"])
    engine.sandbox.reset()
    for reason in SCENARIOS:
        endings[reason.value] = str(conversation_ending(engine, reason)["id"])
    return endings


def _hostile(engine: Running, text: str) -> dict[str, Any]:
    """A decision whose every free field is hostile."""
    account = engine.account(documents={text[:200]: [text]}, flagged_keywords=["owned", "elsewhere"])
    return engine.decide(
        account, text, author_id=text[:100], conversation_id=text[:100], message_id=text[:100]
    )


def _demo(engine: Running) -> None:
    """The demo's chats and comments; they share the screen with nothing invented for tests."""
    payloads = events.payloads(run="browser", faults=True)
    append(engine.redis, payloads)
    eventually(
        lambda: engine.redis.xlen("hushgate:events") == 0,
        f"{len(payloads)} entries of the demo to be finished",
    )
