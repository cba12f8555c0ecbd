"""Publishing dead letters again, and dropping them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cli.options import database_url, own_connections, settings_of, stream_settings, who
from db.access_log import LogEntry, LoggedAction
from db.buried.letters import StoredLetter, drop_letters, locked_letter, set_retried
from db.pool import Pool
from tasks.repair.retry import publish_again
from tasks.shards.clients import close, connect
from worker.settings.retention import RetentionSettings

RETRIED: Final = "published"
DROPPED: Final = "dropped"
HELD: Final = "a legal hold covers it"
GONE: Final = "it was dropped meanwhile"
BATCH: Final = 200
DAY_S: Final = 86_400


async def republish(letters: Sequence[StoredLetter], *, dry_run: bool) -> list[dict[str, Any]]:
    """Publish the letters that can be published; a row for each letter has the new entry or the problem."""
    if dry_run:
        return [{"entry_id": each.entry_id, RETRIED: None, "problem": each.problem} for each in letters]
    settings = stream_settings()
    mark_s = settings_of(RetentionSettings).keep.dead_letters_days * DAY_S
    redis = connect(settings.redis_url.get_secret_value())

    async def publish(letter: StoredLetter) -> str:
        return await publish_again(
            redis, settings.stream, entry_id=letter.entry_id, payload=letter.raw, mark_s=mark_s
        )

    try:
        async with own_connections(database_url()) as source:
            return [await _republish(source, each.entry_id, publish) for each in letters]
    finally:
        await close(redis)


async def _republish(
    source: Pool, entry_id: str, publish: Callable[[StoredLetter], Awaitable[str]]
) -> dict[str, Any]:
    made = None
    async with locked_letter(source, entry_id) as (connection, letter):
        problem = GONE if letter is None else letter.problem
        if letter is not None and problem is None:
            made = await publish(letter)
            logged = _entry(letter.account, "published again", entry=entry_id, made=made)
            await set_retried(connection, entry_id, made, datetime.now(UTC), logged=logged)
    return {"entry_id": entry_id, RETRIED: made, "problem": problem}


async def drop_all(letters: Sequence[StoredLetter], *, dry_run: bool) -> list[dict[str, Any]]:
    """Delete the letters; a row each says whether the letter is deleted."""
    if dry_run:
        return [{"entry_id": each.entry_id, DROPPED: False, "problem": None} for each in letters]
    gone: set[str] = set()
    async with own_connections(database_url()) as source:
        for account in sorted({each.account for each in letters}, key=str):
            of_account = [each.entry_id for each in letters if each.account == account]
            for first in range(0, len(of_account), BATCH):
                batch = of_account[first : first + BATCH]
                gone |= await drop_letters(source, batch, logged=_entry(account, "dropped", entries=batch))
    return [
        {
            "entry_id": each.entry_id,
            DROPPED: each.entry_id in gone,
            "problem": None if each.entry_id in gone else HELD,
        }
        for each in letters
    ]


def _entry(account: str | None, change: str, **detail: Any) -> LogEntry:
    known = {"what": "dead letters", "change": change} | detail
    return LogEntry(action=LoggedAction.DEAD_LETTER, person=who(), user_id=account, detail=known)
