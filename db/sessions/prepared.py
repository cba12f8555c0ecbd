"""What every new session sets, so that a server's defaults change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SETTINGS: Final[Mapping[str, str]] = {
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "600000",
    "idle_session_timeout": "0",
    "jit": "off",
    "lock_timeout": "0",
    "transaction_timeout": "0",
}
"""Name -> value in the unit of ``pg_settings``, milliseconds for times.

Postgres overestimates the rows of ours; to compile a statement would take longer than to run it. Under read
committed each statement sees what was committed before it: a relay reads replies again under its locks.
Shorter times would end the transactions of relays and exports; statements have a limit of their own.
``transaction_timeout`` exists from Postgres 17 on.
"""
_WANTED: Final = ", ".join(f"('{name}', '{value}')" for name, value in SETTINGS.items())
SET_ALL: Final = f"""
    SELECT set_config(s.name, wanted.setting, false)
    FROM (VALUES {_WANTED}) AS wanted (name, setting) JOIN pg_settings s ON s.name = wanted.name
"""
