"""``hushgate doctor``: do customers read that an AI answers them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.doctor.check import DoctorCheck, warned
from cli.options import with_pool
from db.account_settings.accounts import accounts_without_disclosure
from worker.settings import Settings

FIX: Final = "set disclosure_texts: the EU AI Act, Art. 50, demands it from 2 August 2026 on"
MOST_NAMED: Final = 5


def disclosure_check(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether each account whose AI is on says so to its customers."""
    found = with_pool(accounts_without_disclosure, settings.database_url.get_secret_value())
    named = ", ".join(found[:MOST_NAMED]) + (" ..." if len(found) > MOST_NAMED else "")
    shown = f"{len(found)} accounts with the AI on do not say so: {named}" if found else "all accounts say so"
    yield warned("AI disclosure", shown, FIX, unless=not found)
