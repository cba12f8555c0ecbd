"""When an alert begins and ends: the past of a check against what it finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasks.alerts.changes import AlertState, checked_alerts

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAME = "HushgateOutboxLate"
"""Two minutes must pass before it begins."""
AWAY = "HushgateServerAway"
FOUND = {NAME: ("late",)}
WAITS = {NAME: AlertState(since=NOW - timedelta(seconds=119))}
DUE = {NAME: AlertState(since=NOW - timedelta(seconds=120))}
POSTED = {NAME: AlertState(since=NOW - timedelta(hours=1), posted=True)}


@pytest.mark.parametrize(
    ("known", "found", "whole", "changes"),
    [
        pytest.param({}, FOUND, True, [], id="found for the first time"),
        pytest.param(WAITS, FOUND, True, [], id="not long enough"),
        pytest.param(DUE, FOUND, True, [(NAME, True)], id="long enough"),
        pytest.param(POSTED, FOUND, True, [], id="posted before"),
        pytest.param(POSTED, {}, True, [(NAME, False)], id="over"),
        pytest.param(DUE, {}, True, [], id="over before it was posted"),
        pytest.param(POSTED, {}, False, [], id="a server is away, so it may still hold"),
        pytest.param(None, {AWAY: ("x",)}, False, [(AWAY, True)], id="nothing is known, as Redis is away"),
    ],
)
def test_an_alert_is_posted_once_when_it_begins_and_once_when_it_ends(
    known: dict[str, AlertState] | None,
    found: dict[str, tuple[str, ...]],
    whole: bool,
    changes: list[tuple[str, bool]],
) -> None:
    """It begins when its condition has held for its minutes."""
    checked = checked_alerts(known, found, NOW, whole=whole)

    assert [(each.alert.name, each.firing) for each in checked.changes] == changes


def test_a_repeated_check_posts_nothing_new() -> None:
    """The states that a check leaves are the past of the next one."""
    checked = checked_alerts(DUE, FOUND, NOW, whole=True)
    kept = checked.after(frozenset(), DUE)

    assert kept == {NAME: AlertState(since=DUE[NAME].since, posted=True)}
    assert checked_alerts(kept, FOUND, NOW, whole=True).changes == ()


@pytest.mark.parametrize(("known", "found"), [(DUE, FOUND), (POSTED, {})])
def test_a_change_that_was_not_posted_is_a_change_again(
    known: dict[str, AlertState], found: dict[str, tuple[str, ...]]
) -> None:
    """Both at its begin and at its end."""
    checked = checked_alerts(known, found, NOW, whole=True)
    kept = checked.after(frozenset({NAME}), known)

    assert kept == known
    assert checked_alerts(kept, found, NOW, whole=True).changes == checked.changes
