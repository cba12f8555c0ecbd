"""The settings of an account as sentences: form fields, and the changes that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.datastructures import FormData

from review.accounts.settings_form import KNOWN
from review.languages import gettext as _
from review.owner.presets import with_policy_fields
from review.typed.durations import as_number_and_unit, duration_in_unit, duration_s
from review.typed.numbers import typed_number
from review.words.problems import problem_wording
from worker.account_settings import AccountRejected, changed
from worker.assessment.policies.designs import DEFAULT_DESIGN, default_name
from worker.model import Account, ReplyMode, Weekday

SWITCHES: Final = ("ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments")
DURATIONS: Final = ("reply_max_age_s", "burst_window_s", "people_idle_s", "hold_max_s")
"""Settings that are typed as a number and a unit."""
BUDGETS: Final = ("budget_day_usd", "budget_month_usd")
HOURS: Final[Mapping[str, str]] = {f"hours_{day}": day.value for day in Weekday}
"""Form field -> the weekday whose hours it holds."""
THRESHOLDS: Final[Mapping[str, str]] = {f"threshold_{name}": name for name in KNOWN}
"""Form field -> the moderation category whose score it limits, in percent."""
FIELDS: Final = (
    *SWITCHES,
    *DURATIONS,
    *(f"{name}_unit" for name in DURATIONS),
    "reply_mode",
    "auto_from_confidence",
    "send_at",
    *THRESHOLDS,
    *BUDGETS,
    "time_zone",
    *HOURS,
)


@dataclass(slots=True, kw_only=True)
class SentenceForm:
    """The values of the fields as text, and the problem of each wrong one."""

    fields: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)


def form_of_account(account: Account) -> SentenceForm:
    """The form filled with an account's settings."""
    fields = {name: "on" if getattr(account, name) else "" for name in SWITCHES}
    for name in DURATIONS:
        fields[name], fields[f"{name}_unit"] = as_number_and_unit(getattr(account, name))
    fields |= {
        "reply_mode": account.reply_mode.value,
        "auto_from_confidence": _percent(account.auto_from_confidence),
        "send_at": _percent(account.assessment_policy.get("send_at")),
        "time_zone": account.time_zone,
    }
    fields |= {key: _percent(account.moderation_thresholds.get(name)) for key, name in THRESHOLDS.items()}
    fields |= {name: _plain(getattr(account, name)) for name in BUDGETS}
    fields |= {key: account.business_hours.get(day, "") for key, day in HOURS.items()}
    return SentenceForm(fields=fields)


def parse_sentences(form: FormData) -> SentenceForm:
    """The form as submitted."""
    return SentenceForm(fields={name: str(form.get(name, "")).strip() for name in FIELDS})


def account_from_sentences(typed: SentenceForm, current: Account) -> Account | None:
    """The account that the form describes; None when fields are wrong, then ``typed.errors`` has them."""
    try:
        account = changed(current, _changes(typed, current))
    except AccountRejected as error:
        for place, text in error.problems:
            name = _field_of(place)
            unit = duration_in_unit if name in DURATIONS else None
            typed.errors.setdefault(name, problem_wording(text, unit))
        return None
    return None if typed.errors else account


def is_calibrated(account: Account) -> bool:
    """Whether the account's confidence policy is the one that the form can set."""
    return default_name(account.assessment_policy) == DEFAULT_DESIGN


def typed_share(typed: SentenceForm, name: str) -> float | None:
    """A field in percent as 0..1; None when it is empty, and when it is wrong with its problem."""
    text = typed.fields[name]
    share = _number(typed, name, text, lambda value: round(value / 100, 6)) if text else None
    if share is not None and not 0 <= share <= 1:
        typed.errors[name] = _("expected a percentage from 0 to 100, got %(got)s") % {"got": text[:40]}
        return None
    return share


def _changes(typed: SentenceForm, current: Account) -> dict[str, Any]:
    found: dict[str, Any] = {name: typed.fields[name] == "on" for name in SWITCHES}
    found |= {name: _duration(typed, name) for name in DURATIONS}
    found |= {name: _amount(typed, name) for name in BUDGETS}
    limits = {name: typed_share(typed, key) for key, name in THRESHOLDS.items()}
    others = {name: each for name, each in current.moderation_thresholds.items() if name not in limits}
    others |= {name: each for name, each in limits.items() if each is not None}
    found["moderation_thresholds"] = others
    found["auto_from_confidence"] = typed_share(typed, "auto_from_confidence")
    found["reply_mode"] = typed.fields["reply_mode"] or ReplyMode.AUTO
    found["assessment_policy"] = with_policy_fields(current, {"send_at": typed_share(typed, "send_at")})
    found["business_hours"] = {day: typed.fields[key] for key, day in HOURS.items() if typed.fields[key]}
    return found | {"time_zone": typed.fields["time_zone"]}


def _duration(typed: SentenceForm, name: str) -> float:
    try:
        return duration_s(typed.fields[name], typed.fields[f"{name}_unit"])
    except ValueError as error:
        typed.errors[name] = str(error)
        return 0


def _amount(typed: SentenceForm, name: str) -> float | None:
    text = typed.fields[name]
    return _number(typed, name, text, lambda value: value) if text else None


def _number(typed: SentenceForm, name: str, text: str, made: Callable[[float], float]) -> float | None:
    try:
        number = made(typed_number(text))
    except ValueError:
        typed.errors[name] = _("expected a number, got “%(got)s”") % {"got": text[:40]}
        return None
    return int(number) if number.is_integer() else number


def _field_of(place: str) -> str:
    """The form field of a problem at a place such as ``moderation_thresholds.hate``."""
    name, _, rest = place.partition(".")
    if name == "moderation_thresholds":
        return f"threshold_{rest}"
    if name == "business_hours":
        return f"hours_{rest}" if f"hours_{rest}" in HOURS else "time_zone"
    return "send_at" if name == "assessment_policy" else name


def _percent(share: object) -> str:
    return f"{share * 100:.10g}" if isinstance(share, int | float) else ""


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"
