"""Stored settings of an account as a worker reads them."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import structlog

from db.account_settings.accounts import FALLBACKS, account_from_row
from tests.support.samples import account


@pytest.mark.parametrize("setting", list(FALLBACKS))
def test_a_value_of_a_newer_release_is_read_as_the_strict_one(setting: str) -> None:
    """After a rollback no event becomes a dead letter, and the log names the setting."""
    with structlog.testing.capture_logs() as lines:
        found = account_from_row(asdict(account()) | {setting: "cheapest_first"})

    assert getattr(found, setting) is FALLBACKS[setting]
    assert [(line["event"], line["setting"]) for line in lines] == [("setting_of_newer_release", setting)]


def test_the_failure_policy_of_a_moderator_is_read_as_strictly() -> None:
    """A moderator whose failure policy is unknown holds."""
    stored = [{"name": "own", "endpoint": "own", "failure": "ask_a_friend"}]
    found = account_from_row(asdict(account()) | {"moderators": stored})

    assert found.moderators[0].failure == "hold"
