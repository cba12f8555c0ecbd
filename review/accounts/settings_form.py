"""The settings form of an account: parsing, the account it describes, and the problem of each field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import NoneType
from typing import Any, Final, get_args

from starlette.datastructures import FormData

from review.accounts import mapping_fields, moderator_fields
from review.accounts.mapping_fields import LINE_END
from review.content_covers import CATEGORIES, RULE
from review.languages import gettext as _
from review.languages import mark
from review.typed.numbers import typed_number
from review.words.problems import problem_wording
from worker.account_settings import SETTINGS, AccountRejected, AccountSettings, changed, kind_of
from worker.assessment import parse_policy
from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.errors import PolicyRejected
from worker.model import Account
from worker.setting import Section, SettingKind

KNOWN: Final = tuple(name for name in CATEGORIES if name != RULE)
"""Categories of the moderation model; another name is stored, with a warning."""
PLAIN: Final[Mapping[str, SettingKind]] = {
    name: kind_of(name)
    for name, each in SETTINGS.items()
    if each.section is not Section.RULES and kind_of(name) not in {SettingKind.MAPPING, SettingKind.RECORDS}
}
"""The settings with one form field of their own name."""
OPTIONAL: Final = frozenset(
    name for name, info in AccountSettings.model_fields.items() if NoneType in get_args(info.annotation)
)
"""The settings whose form field may be empty."""
PARTS: Final = (
    "policy_name",
    "policy_settings",
    "other_thresholds",
    *(f"threshold_{name}" for name in KNOWN),
    *mapping_fields.LINES,
    *moderator_fields.FIELDS,
)
"""The other form fields: parts of the settings that are mappings or records."""
NO_CATEGORY: Final = mark(
    "%(category)s: OpenAI's moderation model has no such category; the threshold has no effect unless your"
    " endpoint has it."
)
SUMMARIES: Final = {name: design.summary for name, design in DESIGNS.items()}
COEFFICIENTS: Final = re.compile(
    r"model\.(kinds\.[a-z]+\.|relevance\.)?(weights|intercept|record|background)"
)
"""Coefficients of a trained model, and the record of its training."""


@dataclass(slots=True, kw_only=True)
class SettingsForm:
    """The values of the form's fields.

    Attributes:
        fields: value by name of the field, as text; a switch is "on" or empty.
        texts: language and text of each row, in order, by setting of ``mapping_fields.ROWS``.
        errors: expectation and value, by name of the field.
    """

    fields: dict[str, str]
    texts: dict[str, list[tuple[str, str]]]
    errors: dict[str, str] = field(default_factory=dict)

    def warnings(self, classifiers: Mapping[str, ClassifierEndpoint]) -> list[str]:
        """Values that can be stored and are probably mistakes, in a deployment with these classifiers."""
        names = [name for name, _ in _pairs(self.fields["other_thresholds"])]
        return [_(NO_CATEGORY) % {"category": name} for name in names if name not in KNOWN] + list(
            moderator_fields.endpoint_warnings(self.fields, classifiers)
        )


def form_of_account(account: Account) -> SettingsForm:
    """The form filled with an account's settings."""
    fields = {name: _field_text(kind, getattr(account, name)) for name, kind in PLAIN.items()}
    thresholds = account.moderation_thresholds
    fields |= {f"threshold_{name}": _number(thresholds.get(name)) for name in KNOWN}
    fields |= moderator_fields.moderator_texts(account)
    policy = dict(account.assessment_policy)
    fields |= {
        "other_thresholds": "\n".join(
            f"{name} = {_number(value)}" for name, value in thresholds.items() if name not in KNOWN
        ),
        "policy_name": str(policy.pop("name", DEFAULT_DESIGN)),
        "policy_settings": json.dumps(policy, ensure_ascii=False, indent=2) if policy else "",
    }
    fields |= {name: mapping_fields.lines_text(getattr(account, name)) for name in mapping_fields.LINES}
    texts = {name: mapping_fields.text_rows(getattr(account, name)) for name in mapping_fields.ROWS}
    return SettingsForm(fields=fields, texts=texts)


def parse_form(form: FormData) -> SettingsForm:
    """The form as submitted."""
    fields = {name: LINE_END.sub("\n", str(form.get(name, ""))) for name in (*PLAIN, *PARTS)}
    texts = {name: mapping_fields.typed_rows(form, prefix) for name, prefix in mapping_fields.ROWS.items()}
    return SettingsForm(fields=fields, texts=texts)


def account_from_form(typed: SettingsForm, current: Account) -> Account | None:
    """The account that the form describes; None when fields are wrong, then ``typed.errors`` has them."""
    changes = _changes(typed, named="name" in current.assessment_policy)
    try:
        account = changed(current, changes)
    except AccountRejected as error:
        for place, text in error.problems:
            _add_error(typed, place, problem_wording(text))
        return None
    return None if typed.errors else account


def effective_settings(account: Account) -> list[tuple[str, str]]:
    """The numbers and switches of the confidence policy in force, defaults included.

    Of a trained model only version and thresholds are listed, without coefficients.
    """
    try:
        policy = parse_policy(dict(account.assessment_policy))
    except PolicyRejected:
        return []
    return [
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in _flat(asdict(policy))
        if not COEFFICIENTS.match(name)
    ]


def _flat(values: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            found += _flat(value, f"{above}{name}.")
        elif isinstance(value, bool | int | float | str):
            found.append((f"{above}{name}", value))
    return found


def _changes(typed: SettingsForm, *, named: bool) -> dict[str, Any]:
    return {
        **{name: _field_value(typed, name, kind) for name, kind in PLAIN.items()},
        **{name: mapping_fields.row_values(typed.errors, name, rows) for name, rows in typed.texts.items()},
        **{
            name: mapping_fields.line_values(typed.errors, name, typed.fields[name])
            for name in mapping_fields.LINES
        },
        "moderation_thresholds": _thresholds(typed),
        "moderators": moderator_fields.moderator_values(typed.fields),
        "assessment_policy": _policy(typed, named=named),
    }


def _field_text(kind: SettingKind, value: Any) -> str:
    match kind:
        case SettingKind.SWITCH:
            return "on" if value else ""
        case SettingKind.NUMBER:
            return _number(value)
        case SettingKind.LIST:
            return ", ".join(value)
    return str(value)


def _field_value(typed: SettingsForm, name: str, kind: SettingKind) -> Any:
    text = typed.fields[name]
    match kind:
        case SettingKind.SWITCH:
            return text == "on"
        case SettingKind.NUMBER if name in OPTIONAL and not text.strip():
            return None
        case SettingKind.NUMBER:
            return _typed_number(typed, name, text)
        case SettingKind.LIST:
            return [each.lower() for each in re.split(r"[,\s]+", text) if each]
    return text


def _thresholds(typed: SettingsForm) -> dict[str, float]:
    written = [(name, f"threshold_{name}", typed.fields[f"threshold_{name}"]) for name in KNOWN]
    others = _pairs(typed.fields["other_thresholds"])
    written += [(name, "other_thresholds", value) for name, value in others]
    return {name: _typed_number(typed, where, value) for name, where, value in written if value.strip()}


def _policy(typed: SettingsForm, *, named: bool) -> dict[str, Any]:
    name, text = typed.fields["policy_name"], typed.fields["policy_settings"].strip()
    try:
        settings = json.loads(text) if text else {}
    except ValueError as error:
        typed.errors["policy_settings"] = _("expected a JSON object, got %(got)s") % {"got": error}
        return {}
    if not isinstance(settings, dict):
        typed.errors["policy_settings"] = _("expected a JSON object, got %(got)s") % {
            "got": type(settings).__name__
        }
        return {}
    # the default needs no name: storing the form unchanged adds no version
    return settings if name == DEFAULT_DESIGN and not named else {"name": name} | settings


def _typed_number(typed: SettingsForm, name: str, text: str) -> float:
    """A number; a whole one is an int, which every setting with numbers accepts."""
    try:
        number = typed_number(text)
    except ValueError:
        typed.errors[name] = _("expected a number, got %(got)s") % {"got": repr(text[:40])}
        return 0.0
    return int(number) if number.is_integer() else number


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.partition("=") for line in text.splitlines() if line.strip()]
    return [(name.strip(), value.strip() or "nothing") for name, _, value in lines]


def _add_error(typed: SettingsForm, place: str, text: str) -> None:
    name, _, rest = place.partition(".")
    if name == "moderation_thresholds":
        name = f"threshold_{rest}" if rest in KNOWN else "other_thresholds"
    elif name == "assessment_policy":
        name = "policy_settings"
    elif name == "moderators":
        name, rest = moderator_fields.error_field(typed.fields, rest)
    typed.errors.setdefault(name, f"{rest}: {text}" if rest and not name.startswith("threshold_") else text)


def _number(value: float | None) -> str:
    return "" if value is None else repr(value).removesuffix(".0")
