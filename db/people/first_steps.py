"""Which steps of a new installation are done, judged by the stored data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT
from db.people.sample_data import SAMPLE_ACCOUNT
from db.rows import all_rows, first_row

MODELS_TESTED: Final = "models_tested"
MODELS_FAILED: Final = "models_failed"
"""In the detail of a line of the access log: calls of a live test, and those without an answer."""
MOST_NEW: Final = 3
"""Accounts with which an installation still counts as new."""
NAMED_BY_UP: Final = "hushgate up, "
"""How the names of tokens begin that `hushgate up` makes: they connect no channel."""
ACCOUNTS: Final = sa.text("""
    SELECT user_id FROM ai_rules WHERE user_id <> :sample AND version = 1
    ORDER BY changed_at, user_id LIMIT :most
""")
MODELS: Final = sa.text("""
    SELECT EXISTS (SELECT FROM account_costs WHERE user_id = :account)
        OR EXISTS (
            SELECT FROM access_log WHERE user_id IS NULL AND at > now() - interval '30 days'
                AND action = 'settings' AND (detail ->> :tested)::int > 0 AND (detail ->> :failed)::int = 0
        )
""")
"""A model was paid for the account, or answered in a live test."""
EVENT: Final = sa.text("SELECT decision_id FROM event_keys WHERE user_id = :account AND event_id = :event")
DONE: Final = sa.text("""
    SELECT
        EXISTS (SELECT FROM documents WHERE user_id = :account) AS document,
        (SELECT cardinality(flagged_keywords) + cardinality(flagged_phrases) > 0 FROM ai_rules
         WHERE user_id = :account ORDER BY version DESC LIMIT 1) AS rule,
        EXISTS (SELECT FROM event_keys WHERE user_id = :account) AS message,
        (SELECT count(DISTINCT r.person_id) > 1 FROM person_roles r JOIN people p ON p.id = r.person_id
         WHERE r.user_id IN (:account, :every) AND p.disabled_at IS NULL) AS person,
        EXISTS (SELECT FROM webhook_endpoints WHERE user_id = :account)
        OR EXISTS (
            SELECT FROM api_tokens t JOIN person_roles r ON r.person_id = t.person_id
            WHERE r.user_id IN (:account, :every) AND t.revoked_at IS NULL AND t.expires_at > now()
                AND :publish = ANY (t.scopes) AND NOT starts_with(t.name, :trial)
        ) AS channel,
        (SELECT reply_mode = 'auto' AND ai_control_enabled FROM ai_rules
         WHERE user_id = :account ORDER BY version DESC LIMIT 1) AS automatic
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """What an account has, of a new installation its first one.

    Attributes:
        account: None: there is none yet.
        models: every model answered a live test in the last 30 days, or one answered a message.
        document: the account has a document.
        rule: the rules in force have a keyword or a phrase.
        message: a message of it was decided.
        person: two people or more have a role on it.
        channel: the account has a webhook, or a program has a token to publish, other than that of a trial.
        automatic: answers are sent without approval.
    """

    account: str | None
    models: bool = False
    document: bool = False
    rule: bool = False
    message: bool = False
    person: bool = False
    channel: bool = False
    automatic: bool = False


async def load_first_steps(connection: Connection) -> FirstSteps | None:
    """The steps of a new installation; None when it has many accounts and so is not new."""
    accounts = await all_rows(connection, ACCOUNTS, {"sample": SAMPLE_ACCOUNT, "most": MOST_NEW + 1})
    if len(accounts) > MOST_NEW:
        return None
    account = accounts[0]["user_id"] if accounts else None
    names = {"tested": MODELS_TESTED, "failed": MODELS_FAILED}
    models = bool((await connection.execute(MODELS, {"account": account} | names)).scalar_one())
    if account is None:
        return FirstSteps(account=None, models=models)
    return replace(await load_account_steps(connection, account), models=models)


async def load_account_steps(connection: Connection, account: str) -> FirstSteps:
    """The steps of one account, whatever other accounts there are; ``models`` is not looked at."""
    values = {"account": account, "every": EVERY_ACCOUNT, "publish": TokenScope.PUBLISH.value}
    values["trial"] = NAMED_BY_UP
    found = await first_row(connection, DONE, values)
    assert found is not None  # a select without a table
    return FirstSteps(account=account, **found)


async def decided_event(connection: Connection, account: str, event_id: str) -> UUID | None:
    """The decision on an event; None while there is none."""
    found: UUID | None = (await connection.execute(EVENT, {"account": account, "event": event_id})).scalar()
    return found
