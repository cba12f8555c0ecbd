"""Personal data in texts for vendors: found, replaced by placeholders, and restored in what comes back.

::

    masker = account_masker(account)                one per event; does nothing where masking is off
    masker.mask("Write to ann@example.org")         "Write to [EMAIL_1]": this text leaves for the vendor
    masker.restore("Sent to [EMAIL_1].")            the original text, and placeholders that were never issued
    masker.counts                                   {"email": 1}: all that the audit stores

``detection`` finds the data, ``placeholders`` replaces and restores it.
"""

from __future__ import annotations

from worker.masking.detection import personal_spans
from worker.masking.kinds import PersonalKind
from worker.masking.placeholders import INSTRUCTION, Masker
from worker.model import Account


def account_masker(account: Account) -> Masker:
    """A masker without placeholders yet, as the account's settings ask for."""
    return Masker(enabled=account.mask_personal_data, countries=account.phone_countries)
