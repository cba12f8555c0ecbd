"""Who owns a conversation: the AI, unless people took it and neither released it nor stayed idle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from db import access_log
from db.access_log import LogEntry
from db.account_settings.accounts import current_account
from db.escalations.closing import Closing, ClosingCause, close_escalation
from db.outbox import CANCEL_OF_CONVERSATION, LOCK_CONVERSATION
from db.pool import Pool, checkout, fetch_as, fetch_one_as, fetch_value
from db.rows import first_value
from db.webhooks.changes import RETURNING_OWNER, STORE_RELEASED_EVENT, STORE_TAKEN_EVENT
from worker.conversation_endings import idle_end
from worker.model import ConversationState, Owner

AI_OWNS: Final = "(c.cause = 'release' OR c.people_until <= %(now)s)"
"""A release counts at once: the clock that gave its time may be ahead of the clock of ``now``."""
TAKE_CONVERSATION: Final = f"""
    INSERT INTO conversations AS c (
        user_id, conversation_id, people_until, changed_at, changed_by, cause, changes, agent_entry)
    SELECT {{user_id}}, %(conversation_id)s, %(people_until)s::timestamptz, %(now)s, %(changed_by)s,
        %(cause)s, 1, string_to_array(split_part(%(agent_entry)s::text, '@', 1), '-')::numeric[]
    {{source}}
    ON CONFLICT (user_id, conversation_id) DO UPDATE SET
        people_until = greatest(c.people_until, EXCLUDED.people_until),
        changes = c.changes + {AI_OWNS}::integer,
        changed_at = CASE WHEN {AI_OWNS} THEN EXCLUDED.changed_at ELSE c.changed_at END,
        changed_by = CASE WHEN {AI_OWNS} THEN EXCLUDED.changed_by ELSE c.changed_by END,
        cause = CASE WHEN {AI_OWNS} THEN EXCLUDED.cause ELSE c.cause END,
        agent_entry = coalesce(EXCLUDED.agent_entry, c.agent_entry)
    WHERE EXCLUDED.agent_entry IS NULL OR c.agent_entry IS NULL OR c.agent_entry < EXCLUDED.agent_entry
"""
"""An agent's message takes a conversation once: when the message is read, or at its turn in the lane."""
TAKE_NOW: Final = f"""
    WITH handed AS ({TAKE_CONVERSATION.format(user_id="%(user_id)s", source="")}
        {RETURNING_OWNER}){STORE_TAKEN_EVENT}
    SELECT count(*) FROM handed
"""
RELEASE: Final = f"""
    WITH handed AS (
        UPDATE conversations c SET people_until = %(now)s, changed_at = %(now)s, changed_by = %(changed_by)s,
            cause = 'release', changes = changes + 1
        WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND NOT {AI_OWNS}
        {RETURNING_OWNER}
    ){STORE_RELEASED_EVENT}
    SELECT count(*) FROM handed
"""
KNOWN: Final = """
    SELECT EXISTS (SELECT FROM messages WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s)
        OR EXISTS (SELECT FROM ai_decisions
                   WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s)
"""
STATES: Final = """
    SELECT user_id, conversation_id, people_until, changed_at, changed_by, cause, changes
    FROM conversations
"""
ONE: Final = f"{STATES} WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s"
WITH_PEOPLE: Final = f"""{STATES} c
    WHERE NOT {AI_OWNS} AND (%(accounts)s::text[] IS NULL OR user_id = ANY(%(accounts)s))
    ORDER BY changed_at DESC, user_id, conversation_id LIMIT %(limit)s
"""


class OwnerCause(StrEnum):
    """Why the owner changed; stored."""

    ESCALATION = "escalation"
    AGENT_MESSAGE = "agent_message"
    COMMAND = "command"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationIds:
    """Which conversation: its account and its id."""

    user_id: str
    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRecord:
    """The stored owner of a conversation.

    Attributes:
        people_until: people own the conversation until then.
        changed_at: the last change of the owner.
        changed_by: an agent's author id, a login, or empty for an escalation.
        changes: how often the owner changed.
    """

    user_id: str
    conversation_id: str
    people_until: datetime
    changed_at: datetime
    changed_by: str
    cause: str
    changes: int

    def owner(self, now: datetime) -> Owner:
        """The owner at a moment."""
        people = self.people_until > now and self.cause != OwnerCause.RELEASE
        return Owner.PEOPLE if people else Owner.AI

    def row(self, now: datetime) -> dict[str, Any]:
        """What programs read of it: the owner at a moment, and the last change."""
        return {
            "user_id": self.user_id,
            "conversation_id": self.conversation_id,
            "owner": self.owner(now).value,
            "people_until": self.people_until,
            "cause": self.cause,
            "changed_by": self.changed_by,
            "changed_at": self.changed_at,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """People take a conversation.

    Attributes:
        people_until: when the conversation returns to the AI unless people write.
        agent_entry: stream entry of the agent's message that takes it, else None.
    """

    user_id: str
    conversation_id: str
    people_until: datetime
    changed_by: str
    cause: OwnerCause
    agent_entry: str | None = None

    def values(self, now: datetime) -> dict[str, object]:
        """Parameters of ``TAKE_CONVERSATION``."""
        return asdict(self) | {"now": now, "keep": None}


def conversation_state(
    people_until: datetime | None, changes: int | None, now: datetime
) -> ConversationState:
    """The state of a conversation from its columns; ``people_until`` is None also after a release."""
    people = people_until is not None and people_until > now
    return ConversationState(owner=Owner.PEOPLE if people else Owner.AI, changes=changes or 0)


async def take_conversation(
    source: Pool, takeover: Takeover, now: datetime, *, logged: LogEntry | None = None
) -> None:
    """People take a conversation: after the return no reply of the AI is delivered in it.

    ``logged`` is written to the access log in the same transaction.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_CONVERSATION, takeover.values(now))
        await connection.execute(TAKE_NOW, takeover.values(now))
        await connection.execute(CANCEL_OF_CONVERSATION, takeover.values(now))
        if logged is not None:
            await access_log.append_entry(connection, logged)


async def take_by_command(
    source: Pool, ids: ConversationIds, *, taken_by: str, now: datetime, logged: LogEntry
) -> bool:
    """A person takes a conversation for the account's idle time; False for an unknown conversation.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    if not await is_known(source, ids):
        return False
    until = idle_end(await current_account(source, ids.user_id), now)
    takeover = Takeover(**asdict(ids), people_until=until, changed_by=taken_by, cause=OwnerCause.COMMAND)
    await take_conversation(source, takeover, now, logged=logged)
    return True


async def release_conversation(
    source: Pool, ids: ConversationIds, *, released_by: str, now: datetime, logged: LogEntry | None = None
) -> bool:
    """The AI may answer again; False, and nothing is logged, when people did not own the conversation.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    values = asdict(ids) | {"changed_by": released_by, "now": now}
    async with checkout(source) as connection, connection.transaction():
        await connection.execute(LOCK_CONVERSATION, values)
        released = bool(await first_value(connection, RELEASE, values))
        if released:
            await close_escalation(connection, _released(ids, released_by, now))
        if released and logged is not None:
            await access_log.append_entry(connection, logged)
    return released


def _released(ids: ConversationIds, released_by: str, now: datetime) -> Closing:
    return Closing(**asdict(ids), cause=ClosingCause.RELEASED, closed_by=released_by, now=now)


async def is_known(source: Pool, ids: ConversationIds) -> bool:
    """Whether any event of a conversation was stored."""
    return bool(await fetch_value(source, KNOWN, asdict(ids)))


async def load_owner(source: Pool, ids: ConversationIds) -> OwnerRecord | None:
    """The stored owner of a conversation; None when people never had it."""
    return await fetch_one_as(source, OwnerRecord, ONE, asdict(ids))


async def list_with_people(
    source: Pool, accounts: tuple[str, ...] | None, *, now: datetime, limit: int
) -> tuple[OwnerRecord, ...]:
    """The conversations that people own, of these accounts or of all, latest takeover first."""
    values = {"accounts": None if accounts is None else list(accounts), "now": now, "limit": limit}
    return tuple(await fetch_as(source, OwnerRecord, WITH_PEOPLE, values))
