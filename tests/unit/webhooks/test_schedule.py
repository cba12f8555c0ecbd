"""The schedule of attempts, what answers mean, and why a delivery is not sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from db.webhooks.tables import webhook_deliveries
from worker.webhooks.schedule import (
    ATTEMPTS,
    DELAYS_S,
    NEVER_SENT,
    REFUSED_BY_RECEIVER,
    AttemptError,
    AttemptResult,
    error_of_status,
    next_attempt,
)
from worker.webhooks.types import CANCEL_REASONS

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FAILED = AttemptResult(error=AttemptError.STATUS, status=500)
H = 3600


def test_the_schedule_is_the_specified_one() -> None:
    """At once, 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h."""
    assert DELAYS_S == (0, 5, 300, 1800, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H)


@pytest.mark.parametrize("attempts", range(1, ATTEMPTS))
def test_a_failed_attempt_waits_with_jitter(attempts: int) -> None:
    """Never earlier than the schedule says, and at most a tenth later."""
    first = next_attempt(attempts, FAILED, now=NOW, draw=0.0)
    last = next_attempt(attempts, FAILED, now=NOW, draw=1.0)

    assert first == NOW + timedelta(seconds=DELAYS_S[attempts])
    assert last == NOW + timedelta(seconds=DELAYS_S[attempts] * 1.1)


def test_the_tenth_failure_is_the_last() -> None:
    """The delivery is given up."""
    assert next_attempt(ATTEMPTS, FAILED, now=NOW, draw=0.5) is None


def test_an_endpoint_that_is_gone_is_not_asked_again() -> None:
    """Status 410 ends a delivery at its first attempt."""
    assert next_attempt(1, AttemptResult(error=AttemptError.GONE, status=410), now=NOW, draw=0) is None


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, None),
        (202, None),
        (204, None),
        (299, None),
        (300, AttemptError.REDIRECT),
        (301, AttemptError.REDIRECT),
        (304, AttemptError.REDIRECT),
        (400, AttemptError.STATUS),
        (410, AttemptError.GONE),
        (429, AttemptError.STATUS),
        (503, AttemptError.STATUS),
        (600, AttemptError.STATUS),
    ],
)
def test_only_statuses_from_200_to_299_are_success(status: int, error: AttemptError | None) -> None:
    """Redirects are failures, 410 has a meaning of its own."""
    assert error_of_status(status) == error


@pytest.mark.parametrize(("asked", "wait"), [(2.0, 5.0), (120.0, 120.0)])
def test_retry_after_lengthens_a_wait_and_never_shortens_it(asked: float, wait: float) -> None:
    """The later of schedule and receiver."""
    result = AttemptResult(error=AttemptError.STATUS, status=429, retry_after_s=asked)

    assert next_attempt(1, result, now=NOW, draw=0) == NOW + timedelta(seconds=wait)


def test_an_attempt_without_an_answer_may_have_arrived() -> None:
    """Not one that never connected, and not one that the receiver refused."""
    unclear = {each for each in AttemptError if AttemptResult(error=each).may_have_arrived}

    assert unclear == {AttemptError.TIMEOUT, AttemptError.BROKEN_OFF, AttemptError.INTERNAL}
    assert unclear == set(AttemptError) - NEVER_SENT - REFUSED_BY_RECEIVER
    assert not AttemptResult(error=None).may_have_arrived


def test_every_stored_reason_has_words() -> None:
    """The check of the table and the words name the same reasons."""
    checks = [each for each in webhook_deliveries.constraints if isinstance(each, sa.CheckConstraint)]
    (stored,) = [str(each.sqltext) for each in checks if "cancel_reason IN" in str(each.sqltext)]

    assert set(re.findall(r"'(\w+)'", stored)) == set(CANCEL_REASONS)
