"""The reasons for which a delivery is not sent."""

from __future__ import annotations

import re

import sqlalchemy as sa

from db.webhooks.tables import webhook_deliveries
from worker.webhooks.types import CANCEL_REASONS


def test_every_stored_reason_has_words() -> None:
    """The check of the table and the words name the same reasons."""
    checks = [each for each in webhook_deliveries.constraints if isinstance(each, sa.CheckConstraint)]
    (stored,) = [str(each.sqltext) for each in checks if "cancel_reason IN" in str(each.sqltext)]

    assert set(re.findall(r"'(\w+)'", stored)) == set(CANCEL_REASONS)
