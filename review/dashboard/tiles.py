"""The figures at the top of the dashboard, each with its change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from db.costs.report import CostSum
from db.figures.figure_sql import RunEvent
from review.charts.scales import compact, duration
from review.dashboard.drawings import cost_days
from review.figures.ranges import Range, range_link
from review.figures.summary import FigureSummary
from review.languages import gettext as _
from review.languages import mark, ngettext
from review.languages.numbers import localized
from review.words.decisions import amount, decision_label, percent, usd
from worker.model import CallPurpose, DecisionKind

Times = Mapping[str, float | None]
RUN_TITLES: Final[Mapping[RunEvent, str]] = {
    RunEvent.RETRIED: mark("Retried"),
    RunEvent.RECHECKED: mark("Rechecked"),
    RunEvent.IMPROVED: mark("Improved"),
}
"""Total."""
RUN_NOTES: Final[Mapping[RunEvent, Callable[[int], str]]] = {
    RunEvent.RETRIED: lambda _count: _("%(count)s with a call that failed"),
    RunEvent.RECHECKED: lambda count: ngettext(
        "%(count)s draft rechecked", "%(count)s drafts rechecked", count
    ),
    RunEvent.IMPROVED: lambda _count: _("%(count)s improved"),
}
"""Total; the text of a number, in the reader's plural form."""
BY_THE_AI: Final = {
    "replies": DecisionKind.RESPOND,
    "silent": DecisionKind.IGNORE,
    "escalated": DecisionKind.ESCALATE,
}
"""Count of a ``FigureSummary`` -> the decision whose messages no person answered."""
CHEAP_JUDGE: Final = "openai/gpt-4.1-nano"
"""Named while the judge is the model that writes: a quarter of the default's price (``worker.settings``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChange:
    """The change of a figure from the range before, over the same whole hours, as text."""

    arrow: str
    text: str
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One figure.

    Attributes:
        note: its base as a share, or how it was counted.
        filters: of the decisions that it counts; None where it counts something else, such as milliseconds.
    """

    title: str
    value: str
    note: str
    change: FigureChange | None
    filters: Mapping[str, str] | None = None

    def link(self, chosen: Range, filters: Mapping[str, str]) -> str | None:
        """The list of the decisions that it counts; None where no filter selects exactly these."""
        return None if self.filters is None else range_link(chosen, **{**filters, **self.filters})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The figures of a range, of its whole hours, and of the range before.

    Attributes:
        whole: without the current hour.
        before: None where hours are missing or nothing was decided.
    """

    now: FigureSummary
    whole: FigureSummary
    before: FigureSummary | None

    def count(self, name: str, title: str, filters: Mapping[str, str] | None, note: str = "") -> Tile:
        """A count, with its share of the decisions."""
        share = percent(self.now.share(name))
        return Tile(
            title=title,
            value=amount(getattr(self.now, name)),
            note=note or _("%(share)s of the decisions") % {"share": share},
            change=relative_change(
                getattr(self.whole, name), None if self.before is None else getattr(self.before, name)
            ),
            filters=filters,
        )

    def rate(self, name: RunEvent, measure: Callable[[FigureSummary], float | None], note: str) -> Tile:
        """A share of decisions with a run event, with its change in percentage points."""
        now = measure(self.now)
        before = None if self.before is None else measure(self.before)
        change = point_change(measure(self.whole), before)
        return Tile(
            title=_(RUN_TITLES[name]),
            value=percent(now),
            note=note,
            change=change,
            filters=None if now is None else {"ran": name},
        )


def relative_change(
    now: float, before: float | None, wording: Callable[[float], str] = amount
) -> FigureChange | None:
    """The relative change, in percent; ``wording`` writes the value before."""
    if before is None:
        return None
    if not before:
        return FigureChange(arrow="▲", text=_("none before"), before=wording(before)) if now else None
    share = now / before - 1
    return _change(0.0 if abs(share) < 0.0005 else share, percent(abs(share)), wording(before))


def point_change(now: float | None, before: float | None) -> FigureChange | None:
    """The change in percentage points."""
    if now is None or before is None:
        return None
    by = round((now - before) * 100, 1)
    return _change(by, _("%(points)s points") % {"points": localized(f"{abs(by):.1f}")}, percent(before))


def _change(by: float, size: str, before: str) -> FigureChange:
    if not by:
        return FigureChange(arrow="=", text=_("as before"), before=before)
    if by > 0:
        return FigureChange(arrow="▲", text=_("up %(size)s") % {"size": size}, before=before)
    return FigureChange(arrow="▼", text=_("down %(size)s") % {"size": size}, before=before)


def decision_tiles(found: Compared) -> tuple[Tile, ...]:
    """Tiles of decisions."""
    return (
        found.count("decisions", _("Decisions"), {}, note=_("each event counted once")),
        *(
            found.count(name, decision_label(decision), {"decision": decision, "answered": "no"})
            for name, decision in BY_THE_AI.items()
        ),
        found.count("answered", _("Answered by a person"), {"answered": "yes"}),
        found.count("blocked", _("Blocked"), {"reason": "blocked"}),
        found.count("failed", _("Silent failures"), {"reason": "failed"}),
        found.count("fallbacks", _("Fallback texts"), {"reason": "FALLBACK_SENT"}),
        found.count("degraded", _("Degraded"), {"degraded": "yes"}),
    )


def run_tiles(
    found: Compared,
    total: tuple[Times, Times],
    replied: tuple[Times, Times],
    waiting: tuple[Times, Times],
) -> tuple[Tile, ...]:
    """Tiles of runs; times are those now and those before, ``replied`` of decisions with a reply."""
    now = found.now
    a_reply = {"count": amount(round(now.tokens / now.replies))} if now.replies else {}
    note = _("%(count)s a reply") % a_reply if a_reply else ""
    calls_share = now.share("attempts")
    calls = (
        _("to models and moderation")
        if calls_share is None
        else _("%(count)s per decision") % {"count": localized(f"{calls_share:.2f}")}
    )
    change = relative_change(found.whole.tokens, found.before.tokens if found.before else None, _short)
    return (
        found.rate(RunEvent.RETRIED, lambda s: s.share("retried"), _run_note(RunEvent.RETRIED, now.retried)),
        found.rate(
            RunEvent.RECHECKED, lambda s: s.share("rechecked"), _run_note(RunEvent.RECHECKED, now.rechecked)
        ),
        found.rate(RunEvent.IMPROVED, lambda s: s.improvement, _run_note(RunEvent.IMPROVED, now.improved)),
        _confidence(found),
        found.count("attempts", _("Calls"), None, note=calls),
        _time(_("Time to a decision, p95"), *total, found),
        _time(_("Time to a reply, p95"), *replied, found),
        _time(_("Waiting before it, p95"), *waiting, found),
        Tile(title=_("Tokens"), value=_short(now.tokens), note=note, change=change),
    )


def _run_note(event: RunEvent, count: int) -> str:
    return RUN_NOTES[event](count) % {"count": amount(count)}


def _confidence(found: Compared) -> Tile:
    """The mean confidence of assessed replies, 0 to 1."""
    now, whole = found.now.mean_confidence, found.whole.mean_confidence
    before = None if found.before is None else found.before.mean_confidence
    change = None
    if whole is not None and before is not None:
        by = round(whole - before, 3)
        change = _change(by, localized(f"{abs(by):.3f}"), localized(f"{before:.2f}"))
    value = "–" if now is None else localized(f"{now:.2f}")
    return Tile(
        title=_("Mean confidence"), value=value, note=_("of the assessed drafts, 0 to 1"), change=change
    )


def _short(number: float) -> str:
    return compact(float(f"{number:.3g}"))


def _time(title: str, now: Times, before: Times, found: Compared) -> Tile:
    value, earlier = now["p95"], before["p95"] if found.before else None
    note = " · ".join(
        f"{name} {duration(ms)}" for name, ms in now.items() if ms is not None and name != "p95"
    )
    change = None if value is None else relative_change(value, earlier, duration)
    shown = "–" if value is None else duration(value)
    return Tile(title=title, value=shown, note=note or _("nothing measured"), change=change)


def cost_tile(costs: Sequence[CostSum], chosen: Range) -> Tile:
    """What the days of the range cost; compared only where all its days are over."""
    now, before = cost_days(chosen, timedelta(0)), cost_days(chosen, chosen.back)
    unpriced = sum(each.unpriced_tokens for each in costs if each.day in now)
    note = _("UTC days from %(day)s on") % {"day": f"{min(now):%Y-%m-%d}"}
    read = [each for each in costs if each.purpose == CallPurpose.JUDGE]
    total, judge = _sum(costs, now), _sum(read, now)
    if total and judge:
        note += _("; the judge %(share)s") % {"share": percent(judge / total)}
        if {each.model for each in read} & {each.model for each in costs if each not in read}:
            note += _(", less with HUSHGATE_JUDGE=%(model)s") % {"model": CHEAP_JUDGE}
    if unpriced:
        note = ngettext(
            "without %(tokens)s token that has no price",
            "without %(tokens)s tokens that have no price",
            unpriced,
        ) % {"tokens": amount(unpriced)}
    is_over = chosen.until.time() == datetime.min.time()
    change = relative_change(_sum(costs, now), _sum(costs, before), usd) if is_over else None
    return Tile(
        title=_("Cost"),
        value=usd(None if unpriced and not total else round(total, 6)),
        note=note,
        change=change,
    )


def _sum(costs: Sequence[CostSum], days: Collection[date]) -> float:
    return sum(each.usd or 0.0 for each in costs if each.day in days)
