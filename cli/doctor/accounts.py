"""``hushgate doctor``: has each account what a reply rests on, and does what it says of itself hold?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cli.doctor.check import DoctorCheck, warned
from cli.options import with_pool
from db.account_settings.accounts import accounts_with_ai
from worker.settings import Settings

CREATE: Final = "hushgate accounts create NAME; its name is the user_id of events"
ADD: Final = "hushgate documents add FILE --account NAME: a question that no document answers gets no reply"
DISCLOSE: Final = "set disclosure_texts: the EU AI Act, Art. 50, demands it from 2 August 2026 on"
PRICE: Final = "set HUSHGATE_PRICES: `hushgate costs --by account,model` names the models without a price"
MOST_NAMED: Final = 5


def account_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether an account has its AI on, and of those that have: documents, disclosures, budgets."""
    found = with_pool(accounts_with_ai, settings.database_url.get_secret_value())
    yield warned("accounts", f"{len(found)} have the AI on", CREATE, unless=bool(found))
    empty = [each.user_id for each in found if not each.has_documents]
    shown = f"{len(empty)} accounts with the AI on have none: {_named(empty)}" if empty else "stored"
    if found:
        yield warned("documents", shown, ADD, unless=not empty)
    silent = [each.user_id for each in found if not each.discloses]
    shown = f"{len(silent)} accounts with the AI on do not say so: {_named(silent)}"
    yield warned("AI disclosure", shown if silent else "all accounts say so", DISCLOSE, unless=not silent)
    if uncounted := [each.user_id for each in found if each.has_uncounted_costs]:
        shown = f"accounts with a budget used models without a price this month: {_named(uncounted)}"
        yield warned("budget prices", shown, PRICE)


def _named(accounts: Sequence[str]) -> str:
    return ", ".join(accounts[:MOST_NAMED]) + (" ..." if len(accounts) > MOST_NAMED else "")
