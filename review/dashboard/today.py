"""What is wrong in a range, as a few sentences with links; nothing else is an alarm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from db.costs.report import Spender
from db.figures.people_figures import WaitingEscalations
from review.dashboard.rates import Rate
from review.dashboard.tiles import Compared
from review.figures.ranges import Range, range_link
from review.languages import gettext as _
from review.languages import ngettext
from review.words.decisions import amount, duration_wording, percent

BEYOND_CHANCE: Final = 3.0
"""Standard deviations of a difference of two counts from which a rise is named."""
MOST_BUDGETS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One thing that is wrong; ``href`` shows it."""

    text: str
    href: str | None = None


def concerns(
    rates: Sequence[Rate],
    compared: Compared,
    waiting: WaitingEscalations,
    spenders: Iterable[Spender],
    *,
    within: timedelta,
    now: datetime,
    chosen: Range,
    filters: dict[str, str],
) -> tuple[Concern, ...]:
    """Missed goals, more failures than before, escalations that wait too long, spent budgets."""
    found = [Concern(text=_goal_missed(each), href=each.href) for each in rates if each.missed]
    if compared.before is not None and _rose(compared.whole.failed, compared.before.failed):
        text = _("Silent failures rose from %(before)s to %(now)s.") % {
            "before": amount(compared.before.failed),
            "now": amount(compared.whole.failed),
        }
        found.append(Concern(text=text, href=range_link(chosen, **filters, reason="failed")))
    if waiting.oldest is not None and now - waiting.oldest > within:
        found.append(Concern(text=_waiting_too_long(waiting, now - waiting.oldest), href="/escalations"))
    spent = [each for each in spenders if any(share >= 1 for share in each.shares.values())]
    if spent:
        names = ", ".join(each.user_id for each in spent[:MOST_BUDGETS])
        text = ngettext(
            "%(num)s account has spent a budget: %(names)s.",
            "%(num)s accounts have spent a budget: %(names)s.",
            len(spent),
        )
        found.append(Concern(text=text % {"num": len(spent), "names": names}, href="#costs"))
    return tuple(found)


def _goal_missed(rate: Rate) -> str:
    goal = 0.0 if rate.goal is None else rate.goal.share
    floor = rate.goal is not None and rate.goal.measure.is_floor
    text = (
        _("%(title)s: %(share)s, below the goal of %(goal)s.")
        if floor
        else _("%(title)s: %(share)s, above the goal of %(goal)s.")
    )
    return text % {"title": rate.title, "share": percent(rate.whole.share), "goal": percent(goal)}


def _waiting_too_long(waiting: WaitingEscalations, age: timedelta) -> str:
    text = ngettext(
        "%(num)s escalation is open; it has waited for %(age)s.",
        "%(num)s escalations are open; the oldest has waited for %(age)s.",
        waiting.waiting,
    )
    return text % {"num": waiting.waiting, "age": duration_wording(age.total_seconds())}


def _rose(now: int, before: int) -> bool:
    return now - before > BEYOND_CHANCE * math.sqrt(max(1, now + before))
