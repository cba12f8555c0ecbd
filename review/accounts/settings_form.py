"""The settings form of an account: what was typed, the changes it means, and what is wrong at which field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from starlette.datastructures import FormData

from review.care import CATEGORIES, RULE
from worker.account_settings import AccountRejected, changed
from worker.assessment import parse_policy
from worker.errors import PolicyRejected
from worker.model import Account

SWITCHES: Final = (
    "ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments", "rules_on_reply",
)  # fmt: skip
KNOWN: Final = tuple(name for name in CATEGORIES if name != RULE)
"""Categories of the moderation model; another name is stored, with a warning."""
NUMBERS: Final = ("hold_max_s", "reply_max_age_s")
TEXTS: Final = (
    "languages",
    "prompt",
    "policy_name",
    "policy_settings",
    "moderation_failure",
    "other_thresholds",
)
SPARE: Final = 2
"""Empty rows for further fallback texts."""
DESIGNS: Final[Mapping[str, str]] = {
    "calibrated": "a measured probability that the reply rests on the passages; the default",
    "failsafe": "a judge model says answer, escalate or refuse",
    "guardrail": "three tiers, with a second search between them",
    "validators": "plain checks of the words against the passages, no judge",
    "safety": "one check after another; the first that fails decides",
}


@dataclass(slots=True, kw_only=True)
class Typed:
    """The form as it stands.

    Attributes:
        fields: by name, as text; switches are "on" or empty.
        fallbacks: language and text, in order.
        errors: field -> what was expected and came.
    """

    fields: dict[str, str]
    fallbacks: list[tuple[str, str]]
    errors: dict[str, str] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """What can be stored and is probably a slip."""
        names = [name for name, _ in _pairs(self.fields["other_thresholds"])]
        return [
            f"{name}: no category of OpenAI's moderation model is called so; the threshold has no effect"
            " unless your endpoint knows it."
            for name in names
            if name not in KNOWN
        ]


def of(account: Account) -> Typed:
    """The form as it opens."""
    fields = {name: "on" if getattr(account, name) else "" for name in SWITCHES}
    fields |= {name: _number(getattr(account, name)) for name in NUMBERS}
    thresholds = account.moderation_thresholds
    fields |= {f"threshold_{name}": _number(thresholds.get(name)) for name in KNOWN}
    policy = dict(account.assessment_policy)
    fields |= {
        "other_thresholds": "\n".join(
            f"{name} = {_number(value)}" for name, value in thresholds.items() if name not in KNOWN
        ),
        "moderation_failure": account.moderation_failure.value,
        "languages": ", ".join(account.languages),
        "prompt": account.prompt,
        "policy_name": str(policy.pop("name", "calibrated")),
        "policy_settings": json.dumps(policy, ensure_ascii=False, indent=2) if policy else "",
    }
    return Typed(fields=fields, fallbacks=list(account.fallback_texts.items()) + [("", "")] * SPARE)


def read(form: FormData) -> Typed:
    """The form as it came back."""
    names = (*SWITCHES, *NUMBERS, *TEXTS, *(f"threshold_{name}" for name in KNOWN))
    fields = {name: str(form.get(name, "")) for name in names}
    fields["prompt"] = re.sub(r"\r\n?", "\n", fields["prompt"])
    languages, texts = form.getlist("fallback_language"), form.getlist("fallback_text")
    fallbacks = [
        (str(language).strip(), re.sub(r"\r\n?", "\n", str(text)))
        for language, text in list(zip(languages, texts, strict=False))[:100]
    ]
    return Typed(fields=fields, fallbacks=fallbacks)


def applied(typed: Typed, current: Account) -> Account | None:
    """The account as it would be stored; None when fields are wrong, which ``typed.errors`` then names."""
    changes = _changes(typed, named="name" in current.assessment_policy)
    try:
        account = changed(current, changes)
    except AccountRejected as error:
        for place, text in error.problems:
            _blame(typed, place, text)
        return None
    return None if typed.errors else account


def effective(account: Account) -> list[tuple[str, str]]:
    """The numbers and switches that the confidence policy works with, defaults included.

    Of a trained model only its version and its thresholds: coefficients say nothing to who owns an account.
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


COEFFICIENTS: Final = re.compile(r"model[.](record|kinds[.][^.]+[.](intercept|weights))\b")
"""What a model was trained on, and what it learnt."""


def _flat(values: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            found += _flat(value, f"{above}{name}.")
        elif isinstance(value, bool | int | float | str):
            found.append((f"{above}{name}", value))
    return found


def _changes(typed: Typed, *, named: bool) -> dict[str, Any]:
    fields = typed.fields
    changes: dict[str, Any] = {name: fields[name] == "on" for name in SWITCHES}
    changes |= {name: _float(typed, name, fields[name]) for name in NUMBERS}
    changes["moderation_thresholds"] = _thresholds(typed)
    changes["moderation_failure"] = fields["moderation_failure"]
    changes["languages"] = [each.lower() for each in re.split(r"[,\s]+", fields["languages"]) if each]
    changes["prompt"] = fields["prompt"]
    changes["assessment_policy"] = _policy(typed, named=named)
    changes["fallback_texts"] = _fallbacks(typed)
    return changes


def _thresholds(typed: Typed) -> dict[str, float]:
    written = [(name, f"threshold_{name}", typed.fields[f"threshold_{name}"]) for name in KNOWN]
    for name, value in _pairs(typed.fields["other_thresholds"]):
        written.append((name, "other_thresholds", value))
    return {name: _float(typed, where, value) for name, where, value in written if value.strip()}


def _policy(typed: Typed, *, named: bool) -> dict[str, Any]:
    name, text = typed.fields["policy_name"], typed.fields["policy_settings"].strip()
    try:
        settings = json.loads(text) if text else {}
    except ValueError as error:
        typed.errors["policy_settings"] = f"expected a JSON object, got {error}"
        return {}
    if not isinstance(settings, dict):
        typed.errors["policy_settings"] = f"expected a JSON object, got {type(settings).__name__}"
        return {}
    if name == "calibrated" and not named:  # the default needs no name: opening and storing changes nothing
        return settings
    return {"name": name} | settings


def _fallbacks(typed: Typed) -> dict[str, str]:
    found: dict[str, str] = {}
    for language, text in typed.fallbacks:
        if not language and not text.strip():
            continue
        if language in found:
            typed.errors["fallback_texts"] = f"expected each language once, got {language!r} twice"
        found[language] = text
    return found


def _float(typed: Typed, name: str, text: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        typed.errors[name] = f"expected a number, got {text[:40]!r}"
        return 0.0


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.partition("=") for line in text.splitlines() if line.strip()]
    return [(name.strip(), value.strip() or "nothing") for name, _, value in lines]


def _blame(typed: Typed, place: str, text: str) -> None:
    name, _, rest = place.partition(".")
    if name == "moderation_thresholds":
        name = f"threshold_{rest}" if rest in KNOWN else "other_thresholds"
    elif name == "assessment_policy":
        name = "policy_settings"
    typed.errors.setdefault(name, f"{rest}: {text}" if rest and not name.startswith("threshold_") else text)


def _number(value: float | None) -> str:
    return "" if value is None else repr(value).removesuffix(".0")
