"""The form fields of a setting, by the shape of its value: stored value to texts, and back.

A field is named as the place of a problem in ``worker.account_settings``: the setting's name, or the name, a
point and the part, such as ``moderation_thresholds.hate``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, get_args

from review.accounts import moderator_fields, policy_fields
from review.accounts.typed_parts import (
    ReportProblem,
    Texts,
    number_of,
    number_text,
    row_pairs,
    row_texts,
    share_of,
)
from review.content_covers import CATEGORIES, RULE
from review.typed.durations import as_number_and_unit, duration_s
from review.typed.numbers import share_text
from review.typed.problems import lines_problem, twice_problem
from worker.account_settings import SETTINGS, AccountSettings, kind_of
from worker.model import Weekday
from worker.setting_description import Section, SettingKind
from worker.statement_grounds import EXAMPLE

KNOWN: Final = tuple(name for name in CATEGORIES if name != RULE)
"""Categories of the moderation model; another name is stored, with a warning."""
OTHERS: Final = "others"
"""The part with the thresholds of other categories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """How a value is typed.

    Attributes:
        shape: the name of its widget in ``setting_parts.html``.
        texts: the texts of a stored value.
        value: the value of texts and of the value stored before; problems are reported by part.
        example: a line of the field; empty: the field has no example.
    """

    shape: str
    texts: Callable[[Any], dict[str, str]]
    value: Callable[[Texts, Any, ReportProblem], Any]
    example: str = ""


def other_thresholds(texts: Texts) -> list[tuple[str, str]]:
    """Name and percentage of each line of other categories."""
    lines = (line.rpartition("=") for line in texts[OTHERS].splitlines() if line.strip())
    return [(name.strip(), text.strip()) for name, _sign, text in lines]


def _fields(name: str) -> Fields:
    if name in SPECIAL:
        return SPECIAL[name]
    kind = kind_of(name)
    if kind is SettingKind.NUMBER and NoneType in get_args(AccountSettings.model_fields[name].annotation):
        return OPTIONAL_NUMBER
    return ROWS if kind is SettingKind.MAPPING else PLAIN[kind]


def _of_duration(seconds: float) -> dict[str, str]:
    number, unit = as_number_and_unit(seconds)
    return {"": number, "unit": unit}


def _duration(typed: Texts, _before: Any, report: ReportProblem) -> float:
    try:
        return duration_s(typed[""], typed["unit"])
    except ValueError as error:
        report("", str(error))
        return 0


def _pairs(example: str) -> Fields:
    """One line for each pair; the last ``=`` of a line ends its name, since a label has one too."""

    def value(typed: Texts, _before: Any, report: ReportProblem) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in filter(str.strip, typed[""].splitlines()):
            key, sign, text = (part.strip() for part in line.rpartition("="))
            if not sign or not key:
                report("", lines_problem(example, line))
            elif key in found:
                report("", twice_problem(key))
            found[key] = text
        return found

    return Fields(
        shape="lines",
        texts=lambda pairs: {"": "\n".join(f"{name} = {text}" for name, text in pairs.items())},
        value=value,
        example=example,
    )


def _of_thresholds(shares: Mapping[str, float]) -> dict[str, str]:
    others = (f"{name} = {share_text(share)} %" for name, share in shares.items() if name not in KNOWN)
    return {name: share_text(shares.get(name)) for name in KNOWN} | {OTHERS: "\n".join(others)}


def _thresholds(typed: Texts, before: Mapping[str, float], report: ReportProblem) -> dict[str, float]:
    """An unchanged percentage keeps every digit that is stored."""
    written = [(name, name, typed[name]) for name in KNOWN if typed[name].strip()]
    written += [(name, OTHERS, text) for name, text in other_thresholds(typed)]
    return {
        name: before[name]
        if share_text(before.get(name)) == text.removesuffix("%").strip()
        else share_of(text, part, report)
        for name, part, text in written
    }


def _hours(typed: Texts, before: Mapping[str, str], _report: ReportProblem) -> dict[str, str]:
    """The hours by weekday; a day that is stored as closed stays so."""
    return {day.value: text for day in Weekday if (text := typed[day.value].strip()) or day.value in before}


def _plain(shape: str, value: Callable[[str], Any], texts: Callable[[Any], str] = str) -> Fields:
    """A value with one field that is never wrong here."""
    return Fields(
        shape=shape,
        texts=lambda stored: {"": texts(stored)},
        value=lambda typed, _before, _report: value(typed[""]),
    )


ROWS: Final = Fields(
    shape="rows", texts=row_texts, value=lambda typed, _before, report: row_pairs(typed, report)
)
"""A text by language."""
NUMBER: Final = Fields(
    shape="number",
    texts=lambda value: {"": number_text(value)},
    value=lambda typed, _before, report: number_of(typed[""], "", report),
)
OPTIONAL_NUMBER: Final = Fields(
    shape="number",
    texts=NUMBER.texts,
    value=lambda typed, before, report: NUMBER.value(typed, before, report) if typed[""].strip() else None,
)
PLAIN: Final[Mapping[SettingKind, Fields]] = {
    SettingKind.SWITCH: _plain("switch", lambda text: text == "on", lambda value: "on" if value else ""),
    SettingKind.CHOICE: _plain("choice", str),
    SettingKind.TEXT: _plain("text", str),
    SettingKind.LIST: _plain(
        "list", lambda text: [each.lower() for each in re.split(r"[,\s]+", text) if each], ", ".join
    ),
    SettingKind.NUMBER: NUMBER,
    SettingKind.SHARE: Fields(
        shape="share",
        texts=lambda value: {"": share_text(value)},
        value=lambda typed, _before, report: share_of(typed[""], "", report) if typed[""].strip() else None,
    ),
    SettingKind.DURATION: Fields(shape="duration", texts=_of_duration, value=_duration),
    SettingKind.RECORDS: Fields(
        shape="moderators",
        texts=moderator_fields.moderator_texts,
        value=lambda typed, _before, _report: moderator_fields.moderator_values(typed),
    ),
}
SPECIAL: Final[Mapping[str, Fields]] = {
    "moderation_thresholds": Fields(shape="thresholds", texts=_of_thresholds, value=_thresholds),
    "business_hours": Fields(
        shape="hours", texts=lambda hours: {day.value: hours.get(day, "") for day in Weekday}, value=_hours
    ),
    "assessment_policy": Fields(
        shape="policy", texts=policy_fields.policy_texts, value=policy_fields.policy_value
    ),
    "escalation_actions": _pairs("NO_ANSWER = escalate"),
    "escalation_queues": _pairs("label:language=de = german"),
    "statement_grounds": _pairs(f"FLAGGED_RULE = {EXAMPLE}"),
}
FIELDS: Final[Mapping[str, Fields]] = {
    name: _fields(name) for name, each in SETTINGS.items() if each.section is not Section.RULES
}
"""Every setting of the form, in the order of ``AccountSettings``."""
