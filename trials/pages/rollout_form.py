"""The form that starts a rollout: its fields, presets, and the plan that it declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized
from review.typed.numbers import typed_number
from review.typed.problems import length_problem, range_problem
from trials.pure.rollouts.bounds import MOST_LEAST, SHARES, Bound, BoundKind, Measure
from trials.pure.rollouts.plan import PRESETS, Plan, RolloutPresetName
from trials.store.candidates import REASON_CHARS
from trials.store.rollout_steps import LEAST_SHARE

KIND_NAMES: Final[Mapping[str, BoundKind]] = {
    "above": BoundKind.ABOVE,
    "times": BoundKind.TIMES,
    "absolute": BoundKind.ABSOLUTE,
}
"""Values of the field that chooses what a limit is compared with; an empty one is no bound."""
KINDS_OF_SHARES: Final[Mapping[str, str]] = {
    "": mark("no bound"),
    "above": mark("points above the settings in force"),
    "times": mark("times that of the settings in force"),
    "absolute": mark("percent of the decisions"),
}
KINDS_OF_LATENCY: Final[Mapping[str, str]] = {
    "": mark("no bound"),
    "above": mark("milliseconds above the settings in force"),
    "times": mark("times that of the settings in force"),
    "absolute": mark("milliseconds"),
}
KINDS_OF_COST: Final[Mapping[str, str]] = {
    "": mark("no bound"),
    "above": mark("US dollars above the settings in force"),
    "times": mark("times that of the settings in force"),
    "absolute": mark("US dollars a decision"),
}
PRESET_TITLES: Final[Mapping[RolloutPresetName, str]] = {
    RolloutPresetName.CAREFUL: mark("Careful"),
    RolloutPresetName.USUAL: mark("Usual"),
    RolloutPresetName.WIDE: mark("Wide"),
}
MOST_LIMIT: Final = 1_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledForm:
    """What was entered.

    Attributes:
        plan: None when there are problems.
        problems: field -> what was expected.
    """

    plan: Plan | None
    reason: str
    problems: Mapping[str, str]


def kinds_of(measure: Measure) -> Mapping[str, str]:
    """What the limit of a measure may be compared with, in words."""
    if measure in SHARES:
        return KINDS_OF_SHARES
    return KINDS_OF_LATENCY if measure is Measure.LATENCY else KINDS_OF_COST


def preset_values(name: RolloutPresetName) -> dict[str, str]:
    """The fields of a preset."""
    preset = PRESETS[name]
    values = {
        "share": _shown(preset.share * 100),
        "least": str(preset.least),
        "planned": str(preset.planned),
        "metric": preset.metric.value,
    }
    names = {kind: name for name, kind in KIND_NAMES.items()}
    for bound in preset.bounds:
        values[f"kind_{bound.measure}"] = names[bound.kind]
        values[f"limit_{bound.measure}"] = _shown(bound.limit * _scale(bound.measure, bound.kind))
    return values


def read_form(field: Callable[[str], str]) -> FilledForm:
    """The plan of a sent form, or what is wrong with each field."""
    problems: dict[str, str] = {}
    share = _number(field("share"), 100 * LEAST_SHARE, 100, "share", problems)
    least = _number(field("least"), 1, MOST_LEAST, "least", problems)
    planned = _number(field("planned"), 2, MOST_LEAST, "planned", problems)
    if (metric := field("metric")) not in set(Measure):
        problems["metric"] = _("Choose a figure.")
    if not 0 < len(reason := field("reason").strip()) <= REASON_CHARS:
        problems["reason"] = length_problem(REASON_CHARS)
    bounds = tuple(found for each in Measure if (found := _bound(each, field, problems)) is not None)
    if not bounds and not problems:
        problems["bounds"] = _("Declare at least one bound.")
    if problems:
        return FilledForm(plan=None, reason=reason, problems=problems)
    plan = Plan(
        share=share / 100, bounds=bounds, least=round(least), metric=Measure(metric), planned=round(planned)
    )
    return FilledForm(plan=plan, reason=reason, problems={})


def read_share(text: str, problems: dict[str, str]) -> float:
    """A share, 0..1, from percent."""
    return _number(text, 100 * LEAST_SHARE, 100, "share", problems) / 100


def _bound(measure: Measure, field: Callable[[str], str], problems: dict[str, str]) -> Bound | None:
    kind = KIND_NAMES.get(field(f"kind_{measure}"))
    if kind is None:
        return None
    limit = _number(field(f"limit_{measure}"), 0, MOST_LIMIT, f"limit_{measure}", problems)
    return Bound(measure=measure, kind=kind, limit=round(limit / _scale(measure, kind), 9))


def _scale(measure: Measure, kind: BoundKind) -> float:
    """Shares are entered in percent, and only they."""
    return 100.0 if measure in SHARES and kind is not BoundKind.TIMES else 1.0


def _number(text: str, least: float, most: float, name: str, problems: dict[str, str]) -> float:
    try:
        found = typed_number(text)
    except ValueError:
        found = math.nan
    if least <= found <= most:
        return found
    problems[name] = range_problem(_shown(least), _shown(most))
    return least


def _shown(number: float) -> str:
    return localized(f"{number:.9g}" if number < 1_000_000 else f"{number:.0f}")
