"""What a run stores before it publishes: accounts, documents, a person with a token, an endpoint."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import psycopg

from cli.demo.sample_reviewers import add_person
from db.access_log import LogEntry, LoggedAction
from db.documents.storage import add_text_document
from db.people import sessions
from db.people.api_tokens import TokenScope
from db.people.records import Role
from db.pool import create_pool
from db.review_store import Store
from db.webhooks import endpoints
from db.webhooks.endpoints import NewEndpoint
from review.auth.api_tokens import store_new_token
from worker.webhooks.types import WebhookType

SHOP: Final = "shop"
"""People own a conversation for half a second after an escalation."""
DESK: Final = "desk"
"""A conversation that people took stays theirs."""
OFF: Final = "off"
"""Has no AI."""
HANDOFF_TEXT: Final = "A colleague will answer here."
KEYWORD: Final = "spam"
ANSWERS: Final = {
    "What are your opening hours?": "Our opening hours are nine to five.",
    "How much does standard shipping cost?": "Standard shipping costs four euros.",
    "How long does delivery take?": "Delivery takes two working days.",
    "Which payment methods do you accept?": "We accept payment methods such as cards and invoices.",
    "Where is the showroom located?": "The showroom is located in Market Street.",
    "Do you sell gift vouchers?": "We sell gift vouchers of twenty euros.",
    "Which bicycle sizes are available?": "The available bicycle sizes are small and large.",
    "How do I book a repair?": "A repair is booked at the counter.",
}
"""Questions, and the sentence of the document that is the reply: a reply to another question shows."""
RETURNS: Final = "A purchase may be returned within thirty days."
PERSON: Final = "chaos"
LIFE: Final = timedelta(days=30)
BEFORE: Final = timedelta(days=1)
"""The endpoint is older than every event, also than those of a clock that jumped back."""
ACCOUNT: Final = """
    INSERT INTO ai_rules (user_id, ai_control_enabled, ai_enabled_for_chats, burst_window_s, stale_reply,
        flagged_keywords, people_idle_s, handoff_texts, reply_max_age_s)
    VALUES (%s, %s, true, 0, 'send', ARRAY[%s], %s, jsonb_build_object('en', %s::text), 1800)
"""
"""Replies are too late after less time than a clock may be wrong by: a worker that went by its own clock
would lose them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The API token of the run's person, and the token of their session."""

    token: str
    session: str
    person_id: str


def seed_accounts(database_url: str) -> None:
    """Store the accounts."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for account, is_on, idle_s in ((SHOP, True, 0.5), (DESK, True, 0.0), (OFF, False, 0.5)):
            connection.execute(ACCOUNT, (account, is_on, KEYWORD, idle_s, HANDOFF_TEXT))


async def seed_rest(database_url: str, webhook_url: str) -> Access:
    """Store documents, the endpoint and the person; the person's API token."""
    async with create_pool(database_url, size=1, application="chaos", role=None) as source:
        for account in (SHOP, DESK):
            await add_text_document(source, account, "Service", (*ANSWERS.values(), RETURNS))
        new = NewEndpoint(
            user_id="*",
            url=webhook_url,
            description="chaos",
            types=(WebhookType.REPLY_CREATED,),
            created_by=PERSON,
        )
        logged = LogEntry(person=PERSON, action=LoggedAction.WEBHOOK, detail={"changed": "added"})
        key = secrets.token_bytes(32)
        await endpoints.add_endpoint(source, new, key, datetime.now(UTC) - BEFORE, logged=logged)
    async with Store(database_url, size=1) as store:
        return await _add_person(store)


async def _add_person(store: Store) -> Access:
    now = datetime.now(UTC)
    async with store.writing() as connection:
        person_id = await add_person(connection, PERSON, "Chaos", tuple(Role))
        token, _ = await store_new_token(
            connection, person_id, name=PERSON, lasts=LIFE, scopes=tuple(TokenScope), now=now
        )
        session = secrets.token_hex(32)
        await sessions.start_session(connection, session, person_id, now=now, lasts=LIFE, address="127.0.0.1")
    return Access(token=token, session=session, person_id=str(person_id))
