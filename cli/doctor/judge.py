"""``hushgate doctor``: which model reads the drafts, and how many drafts it did not read lately."""

from __future__ import annotations

from typing import Final

from cli.doctor.check import DoctorCheck, passed, warned
from tasks.alerts.situation import Situation
from worker.reasons import Reason
from worker.settings import Settings

CHECK: Final = "judge"
READ_OR_HELD: Final = frozenset({Reason.REPLIED, Reason.PARTIAL_REPLY, Reason.HELD_UNREAD})
FREQUENT: Final = 0.1
"""Share of drafts without a reading that is a warning: single calls of a model always fail."""


def judge_check(settings: Settings, now: Situation) -> DoctorCheck:
    """The judge's line; without Postgres without its figures."""
    drafts = sum(each.events for each in now.counts if each.recent and each.reason_code in READ_OR_HELD)
    held = sum(each.events for each in now.counts if each.recent and each.reason_code == Reason.HELD_UNREAD)
    lately = f"{held} drafts held unread in the last 15 minutes" if now.fleet.stored else "figures unknown"
    if (judge := settings.servers.judge) is None:
        found = "off: drafts that are not copied from a passage wait for people"
        return warned(CHECK, f"{found}; {lately}", "set another HUSHGATE_JUDGE and restart the workers")
    found = f"{judge.model} ({judge.named_by.variable}) reads each draft once; {lately}"
    if held < FREQUENT * drafts or not held:
        return passed(CHECK, found)
    fix = (
        "these drafts wait for people; the page of one says why it was not read: hushgate decisions list"
        " --since 15m --reason HELD_UNREAD; hushgate doctor --live calls the judge"
    )
    return warned(CHECK, found, fix)
