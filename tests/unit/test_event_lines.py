"""The log lines of an event's outcome."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from db.commits.known import Recorded
from tasks.entries.lines import log_decision
from tests.unit.test_metrics import decision
from worker.reasons import Reason


@pytest.mark.parametrize(
    ("reason", "expected"),
    [(Reason.LLM_ERROR, ["error"]), (Reason.LLM_REJECTED, ["error"]), (Reason.TOO_LATE, [])],
)
def test_an_error_of_the_model_is_a_line_at_error_level(reason: Reason, expected: list[str]) -> None:
    """Beside the line of the silent failure; other endings have none."""
    with capture_logs() as lines:
        log_decision(decision("shop", reason), Recorded.NEW, 1)

    assert [each["log_level"] for each in lines if each["event"] == "llm_error"] == expected
