"""The form of an account's settings: one form, of which a page may show and send any part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import FormData

from review.accounts import moderator_fields
from review.accounts.policy_fields import options_of
from review.accounts.setting_fields import FIELDS, KNOWN, other_thresholds
from review.accounts.typed_parts import ReportProblem, parts_below, row_numbers
from review.languages import gettext as _
from review.languages import mark
from review.typed.durations import duration_in_unit
from review.typed.problems import problem_wording
from worker.account_settings import SETTINGS, AccountRejected, changed, kind_of
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.model import Account
from worker.setting_description import Section, Setting, SettingKind

LINE_END: Final = re.compile(r"\r\n?")
POLICY: Final = "assessment_policy"
OPEN_PARTS: Final = 14
"""Filled fields of a setting up to which it is unfolded: a new account has texts in seventeen languages."""
NO_CATEGORY: Final = mark(
    "%(category)s: OpenAI's moderation model has no such category; the threshold has no effect unless your"
    " endpoint has it."
)


@dataclass(slots=True, kw_only=True)
class SettingsForm:
    """The values of the form's fields.

    Attributes:
        fields: value by name of the field, as text; a switch is "on" or empty.
        errors: problem by name of the field, in words.
    """

    fields: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def design(self) -> str:
        """The chosen design of the confidence policy."""
        return self.fields[f"{POLICY}.name"]

    def text(self, name: str) -> str:
        """The value of a field; empty for one of a design that was chosen just now."""
        return self.fields.get(name, "")

    def parts(self, name: str) -> dict[str, str]:
        """The texts of the parts of a setting or of an option."""
        return parts_below(self.fields, name)

    def is_open(self, name: str) -> bool:
        """Whether a setting or an option is unfolded: it has a problem, or some parts, but not many."""
        wrong = any(each == name or each.startswith(f"{name}.") for each in self.errors)
        return wrong or 0 < sum(bool(each.strip()) for each in self.parts(name).values()) <= OPEN_PARTS

    def texts(self, name: str) -> int:
        """The number of texts in the rows of a setting or of an option."""
        parts = self.parts(name).items()
        return sum(part.endswith(".text") and bool(text.strip()) for part, text in parts)

    def rows(self, name: str) -> tuple[int, ...]:
        """The numbers of the rows of a setting or of an option."""
        return row_numbers(self.parts(name))

    def moderator_rows(self) -> list[int]:
        """The numbers of the rows that are moderators."""
        return moderator_fields.filled_rows(self.parts("moderators"))

    def warnings(self, classifiers: Mapping[str, ClassifierEndpoint]) -> list[str]:
        """Values that can be stored and are probably mistakes, in a deployment with these classifiers."""
        names = (name for name, _text in other_thresholds(self.parts("moderation_thresholds")))
        return [_(NO_CATEGORY) % {"category": name} for name in names if name not in KNOWN] + list(
            moderator_fields.endpoint_warnings(self.parts("moderators"), classifiers)
        )


def form_of_account(account: Account) -> SettingsForm:
    """The form filled with an account's settings."""
    return SettingsForm(
        fields={
            _place(name, part): text
            for name, each in FIELDS.items()
            for part, text in each.texts(getattr(account, name)).items()
        }
    )


def parse_form(form: FormData, current: Account) -> SettingsForm:
    """The form as submitted; fields that the page did not have keep the values of ``current``."""
    typed = form_of_account(current)
    for name in form:
        if name.partition(".")[0] in FIELDS:
            typed.fields[name] = LINE_END.sub("\n", str(form.getlist(name)[-1]))
    return typed


def moved_form(form: FormData, base: Account, current: Account) -> SettingsForm:
    """A form made from ``base`` as one of ``current``: only settings that its person changed differ."""
    typed, before, now = parse_form(form, base), form_of_account(base), form_of_account(current)
    sources = {name: now if typed.parts(name) == before.parts(name) else typed for name in FIELDS}
    return SettingsForm(
        fields={
            _place(name, part): text
            for name, source in sources.items()
            for part, text in source.parts(name).items()
        }
    )


def with_one_change(typed: SettingsForm, current: Account, name: str) -> SettingsForm:
    """The settings in force with one setting as typed."""
    before = form_of_account(current).fields
    kept = {place: text for place, text in before.items() if place.partition(".")[0] != name}
    own = {place: text for place, text in typed.fields.items() if place.partition(".")[0] == name}
    return SettingsForm(fields=kept | own)


def account_from_form(typed: SettingsForm, current: Account) -> Account | None:
    """The account that the form describes; None when fields are wrong, then ``typed.errors`` has them."""
    before = form_of_account(current)
    changes = {
        name: each.value(typed.parts(name), getattr(current, name), _reporter(typed, name))
        for name, each in FIELDS.items()
        if typed.parts(name) != before.parts(name)
    }
    try:
        account = changed(current, changes)
    except AccountRejected as error:
        for place, text in _problems(error):
            _add_error(typed, place, text)
        return None
    return None if typed.errors else account


def sections(names: Iterable[str]) -> dict[Section, dict[str, Setting]]:
    """The settings with these names, by section."""
    wanted = set(names)
    found = {
        section: {name: each for name, each in SETTINGS.items() if each.section is section and name in wanted}
        for section in Section
    }
    return {section: settings for section, settings in found.items() if settings}


def hidden_fields(typed: SettingsForm, current: Account) -> dict[str, str]:
    """The fields that differ from the settings in force, to be sent again after the review."""
    before = form_of_account(current).fields
    return {name: text for name, text in typed.fields.items() if before.get(name) != text}


def _place(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


def _reporter(typed: SettingsForm, name: str) -> ReportProblem:
    def report(part: str, problem: str) -> None:
        typed.errors.setdefault(_place(name, part), problem)

    return report


def _problems(error: AccountRejected) -> Iterable[tuple[str, str]]:
    """Place and text of each problem; those of a policy name their options themselves."""
    for place, text in error.problems:
        if place != POLICY:
            yield place, text
            continue
        for line in text.splitlines():
            option, sign, problem = line.partition(": ")
            yield (f"{POLICY}.{option}", problem) if sign else (POLICY, line)


def _add_error(typed: SettingsForm, place: str, text: str) -> None:
    """Put a problem at the narrowest field of its place."""
    name, _sign, rest = place.partition(".")
    if name == "moderators":
        place = _place(name, moderator_fields.error_part(typed.parts(name), rest))
    unit = duration_in_unit if name in FIELDS and kind_of(name) is SettingKind.DURATION else None
    known = {*typed.fields, *FIELDS, *(f"{POLICY}.{each.path}" for each in options_of(typed.design))}
    at = place
    while at not in known and "." in at:
        at = at.rpartition(".")[0]
    inside = place.removeprefix(at).lstrip(".")
    wording = problem_wording(text, unit)
    typed.errors.setdefault(at, f"{inside}: {wording}" if inside and not inside.isdecimal() else wording)
