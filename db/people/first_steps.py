"""Which steps of a new installation are done, judged by the stored data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT
from db.rows import all_rows, first_row

ACCOUNTS: Final = sa.text("SELECT DISTINCT user_id FROM ai_rules LIMIT 2")
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
                AND :publish = ANY (t.scopes)
        ) AS channel
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """What an installation with at most one account has.

    Attributes:
        account: the only account; None: there is none yet.
        document: it has a document.
        rule: the rules in force have a keyword or a phrase.
        message: a message of it was decided.
        person: two people or more have a role on it.
        channel: it has a webhook, or a program has a token to publish.
    """

    account: str | None
    document: bool = False
    rule: bool = False
    message: bool = False
    person: bool = False
    channel: bool = False


async def load_first_steps(connection: AsyncConnection) -> FirstSteps | None:
    """The steps of a new installation; None when it has several accounts and so is not new."""
    accounts = await all_rows(connection, ACCOUNTS)
    if len(accounts) > 1:
        return None
    if not accounts:
        return FirstSteps(account=None)
    account = accounts[0]["user_id"]
    values = {"account": account, "every": EVERY_ACCOUNT, "publish": TokenScope.PUBLISH.value}
    found = await first_row(connection, DONE, values)
    assert found is not None  # a select without a table
    return FirstSteps(account=account, **found)
