"""What is kept of the prompt of a decision: the account's own instructions in the version it used."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.connection import Connection

INSTRUCTIONS: Final = sa.text("SELECT prompt FROM ai_rules WHERE user_id = :user_id AND version = :version")


async def account_instructions(connection: Connection, user_id: str, version: int) -> str | None:
    """The account's text in the prompt; None when that version is no longer stored."""
    found: str | None = (
        await connection.execute(INSTRUCTIONS, {"user_id": user_id, "version": version})
    ).scalar()
    return found
