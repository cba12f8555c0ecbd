"""Which alerts begin and end: what is found now, compared with what was known before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tasks.alerts.declared import ALERTS, Alert

NAMED: Final = {each.name: each for each in ALERTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """An alert whose condition holds.

    Attributes:
        since: when a check found it first.
        posted: True once people were informed.
    """

    since: datetime
    posted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertChange:
    """An alert that begins or ends.

    Attributes:
        found: one sentence a finding; empty for an alert that ends.
        since: when the alert's condition was found first.
    """

    alert: Alert
    firing: bool
    found: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAlerts:
    """What a check leaves: the alerts whose condition holds, and the changes to post."""

    states: Mapping[str, AlertState]
    changes: tuple[AlertChange, ...]

    def after(self, failed: frozenset[str], known: Mapping[str, AlertState]) -> dict[str, AlertState]:
        """The states to keep; a change in ``failed`` was not posted, and is a change again next time."""
        states = dict(self.states)
        for each in self.changes:
            name = each.alert.name
            if each.firing and name not in failed:
                states[name] = AlertState(since=each.since, posted=True)
            elif not each.firing and name in failed:
                states[name] = known[name]
        return states


def checked_alerts(
    known: Mapping[str, AlertState] | None,
    found: Mapping[str, tuple[str, ...]],
    now: datetime,
    *,
    whole: bool,
) -> CheckedAlerts:
    """The alerts after a check.

    An alert begins when its condition has held for its minutes, as in Prometheus; at once when nothing is
    known of the past (None). ``whole=False``: something was not read, so alerts that were not found may
    still hold and do not end.
    """
    before = known or {}
    states = {name: before.get(name, AlertState(since=now)) for name in found}
    if not whole:
        states |= {name: each for name, each in before.items() if name not in states}
    begun = (
        AlertChange(alert=NAMED[name], firing=True, found=sentences, since=states[name].since)
        for name, sentences in found.items()
        if not states[name].posted
        and (known is None or now - states[name].since >= timedelta(minutes=NAMED[name].minutes))
    )
    ended = (
        AlertChange(alert=NAMED[name], firing=False, found=(), since=each.since)
        for name, each in before.items()
        if each.posted and name not in states
    )
    return CheckedAlerts(states=states, changes=(*begun, *ended))
