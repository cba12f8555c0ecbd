"""The settings page of an account: two levels of one form, presets, effects, review, storing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.account_settings.account_versions import AccountVersion
from db.audit.sent_replies import measured_replies
from db.rows import Row
from features.feature import panel_functions
from review.access import Right
from review.accounts import moderator_fields, policy_fields, setting_fields, settings_form
from review.accounts.account_changes import change_warnings, difference, setting_words
from review.accounts.rule_texts import version_in
from review.accounts.settings_form import POLICY, SettingsForm
from review.accounts.stored_versions import store_change, version_in_force
from review.accounts.what_if import WhatIf, with_category, with_confidence
from review.content_covers import category_wording
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.panels import load_panels
from review.typed.durations import TimeUnit, unit_name
from review.typed.numbers import typed_share
from worker.account_settings import SETTINGS, changed
from worker.assessment.policies.designs import DEFAULT_DESIGN, DESIGNS
from worker.model import OPENAI_MODERATION, Account, FailurePolicy, Weekday
from worker.moderator_settings import MODERATOR_PARTS
from worker.presets import PRESETS, PresetKind, PresetName, preset_changes, preset_of, presets_of

ALL: Final = "all"
"""The second level: every setting; the first one has those with a sentence."""
FIRST: Final = tuple(name for name in setting_fields.FIELDS if SETTINGS[name].sentence)
JOINED: Final = frozenset({"ai_enabled_for_chats", "ai_enabled_for_comments", "business_hours"})
"""Settings that stand with the setting before them, as one thing of the first level."""
NO_EFFECT: Final[Mapping[str, object]] = MappingProxyType({})
DAYS: Final = 7
MOST_REPLIES: Final = 1_000
"""Newest replies that a threshold is tried on."""
WEEKDAYS: Final = {
    Weekday.MONDAY: mark("Monday"),
    Weekday.TUESDAY: mark("Tuesday"),
    Weekday.WEDNESDAY: mark("Wednesday"),
    Weekday.THURSDAY: mark("Thursday"),
    Weekday.FRIDAY: mark("Friday"),
    Weekday.SATURDAY: mark("Saturday"),
    Weekday.SUNDAY: mark("Sunday"),
}
NEW: Final = Account(user_id="", version=0)
"""The settings of an account without a version: the defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEffect:
    """What a typed threshold would have done; ``found`` is None where the replies were not read in time."""

    title: str
    percent: str
    found: WhatIf | None


async def show_settings(visit: Visit) -> Response:
    """The settings in force; a form for people with the right to change them."""
    stored = await version_in_force(visit)
    level = visit.request.query_params.get("level", "")
    return await _page(visit, stored, settings_form.form_of_account(stored.account), level=level)


async def save_settings(visit: Visit) -> Response:
    """Show the changes of the form or of a preset; with the action ``store``, store them as a new version."""
    stored = await version_in_force(visit)
    typed, action = settings_form.parse_form(visit.form, stored.account), visit.field("action")
    level = visit.field("level")
    if visit.partial:
        return await _show_part(visit, stored, typed)
    if version_in(visit.form) != stored.account.version:
        return await _conflict(visit, stored, level)
    if name := _effect_name(visit):
        effect = await _effect(visit, stored, typed, name)
        return await _page(visit, stored, typed, level=level, effect_of=name, effect=effect)
    preset = _preset_in(visit)
    account = (
        changed(stored.account, preset_changes(preset, stored.account))
        if preset
        else settings_form.account_from_form(typed, stored.account)
    )
    if account is None or action in {"back", "check"}:
        return await _page(visit, stored, typed, level=level, status=200 if account else 422)
    if action != "store" and account != stored.account:
        return await _review(visit, stored, typed, account, preset)
    answer = await store_change(
        visit, stored.account, account, LoggedAction.SETTINGS, page="settings", level=level
    )
    return answer or await _conflict(visit, await version_in_force(visit), level)


def _preset_in(visit: Visit) -> PresetName | None:
    name = visit.field("preset")
    if name and name not in set(PresetName):
        raise Refused(400, "Not understood", _("Choose one of the presets of the page."))
    return PresetName(name) if name else None


async def _show_part(visit: Visit, stored: AccountVersion, typed: SettingsForm) -> Response:
    """The effect of one setting, or of every threshold, for a page that is open."""
    if name := _effect_name(visit):
        return visit.render("setting_effect.html", effect=await _effect(visit, stored, typed, name))
    return visit.render("what_if.html", effects=await _effects(visit, stored.account, typed))


def _effect_name(visit: Visit) -> str:
    """The setting whose effect is asked for; empty: none."""
    name = visit.field("effect")
    return name if name in setting_fields.FIELDS else ""


async def _effect(
    visit: Visit, stored: AccountVersion, typed: SettingsForm, name: str
) -> Mapping[str, object]:
    """What one setting, as typed, would have done to the newest decisions; without a change no preview."""
    alone = settings_form.with_one_change(typed, stored.account, name)
    account, preview = settings_form.account_from_form(alone, stored.account), None
    if account is not None and account != stored.account:
        preview = (await load_panels("change", visit, account)).html
    return {"problems": tuple(alone.errors.values()), "preview": preview}


async def _review(
    visit: Visit, stored: AccountVersion, typed: SettingsForm, account: Account, preset: PresetName | None
) -> Response:
    return visit.render(
        "settings_review.html",
        account=account.user_id,
        stored=stored,
        change=difference(stored.account, account),
        risks=change_warnings(stored.account, account),
        warnings=() if preset else typed.warnings(visit.site.settings.classifiers),
        sent_again=settings_form.hidden_fields(typed, stored.account),
        level=visit.field("level"),
        preview=(await load_panels("change", visit, account)).html,
        preset=preset,
        chosen=PRESETS[preset] if preset else None,
        tab="settings",
    )


async def _conflict(visit: Visit, stored: AccountVersion, level: str) -> Response:
    """Another person stored a version meanwhile: show their changes, and the person's own on top of them."""
    version, user_id = version_in(visit.form), stored.account.user_id
    base = await account_versions.get_version(visit.store.pool, user_id, version)
    before = base.account if base else Account(user_id=user_id, version=0)
    typed = settings_form.moved_form(visit.form, before, stored.account)
    other = difference(before, stored.account)
    return await _page(visit, stored, typed, level=level, other=other, base_version=version, status=409)


async def _effects(visit: Visit, account: Account, typed: SettingsForm) -> tuple[SettingEffect, ...]:
    """The effect of every threshold in the form, on the newest replies of the last days."""
    since = visit.now - timedelta(days=DAYS)
    rows = await visit.store.read_lists(
        lambda replica: measured_replies(replica, account.user_id, since, MOST_REPLIES)
    )
    return tuple(_each_effect(typed, rows))


def _each_effect(typed: SettingsForm, rows: tuple[Row, ...] | None) -> Iterator[SettingEffect]:
    titles = {"auto_from_confidence": _("Sent without approval")}
    if typed.design == DEFAULT_DESIGN:
        titles[f"{POLICY}.{DESIGNS[DEFAULT_DESIGN].main_threshold}"] = _("Lowest confidence")
    for name, title in titles.items():
        if (share := _share(typed.text(name))) is not None:
            found = None if rows is None else with_confidence(rows, share)
            yield SettingEffect(title=title, percent=typed.text(name), found=found)
    for category in setting_fields.KNOWN:
        text = typed.text(f"moderation_thresholds.{category}")
        if (share := _share(text)) is not None:
            found = None if rows is None else with_category(rows, category, share)
            yield SettingEffect(title=category_wording(category), percent=text, found=found)


def _share(text: str) -> float | None:
    """A percentage; None while it is empty or wrong."""
    try:
        return typed_share(text) if text.strip() else None
    except ValueError:
        return None


async def _page(
    visit: Visit,
    stored: AccountVersion,
    typed: SettingsForm,
    *,
    level: str,
    status: int = 200,
    other: object = None,
    base_version: int = 0,
    effect_of: str = "",
    effect: Mapping[str, object] = NO_EFFECT,
) -> Response:
    parameters, account = visit.request.query_params, stored.account
    level = ALL if level == ALL else ""
    return visit.render(
        "account_settings.html",
        status=status,
        account=account.user_id,
        stored=stored,
        level=level,
        sections=settings_form.sections(setting_fields.FIELDS if level else FIRST),
        joined=JOINED,
        effect_of=effect_of,
        effect=effect,
        has_effects=bool(panel_functions("change")),
        typed=typed,
        form_fields=setting_fields.FIELDS,
        defaults={name: setting_words(name, getattr(NEW, name)) for name in setting_fields.FIELDS},
        warnings=typed.warnings(visit.site.settings.classifiers),
        options=(policy_fields.options_of if level else policy_fields.main_options)(typed.design),
        designs={name: design.summary for name, design in DESIGNS.items()},
        moderator_parts=MODERATOR_PARTS,
        moderator_rows=moderator_fields.ROWS,
        endpoints=(OPENAI_MODERATION, *visit.site.settings.classifiers),
        failures=tuple(FailurePolicy),
        units=tuple(TimeUnit),
        unit_name=unit_name,
        weekdays=WEEKDAYS,
        presets={kind.value: presets_of(kind) for kind in PresetKind},
        current={kind.value: preset_of(account, kind) for kind in PresetKind},
        effects=await _effects(visit, account, typed),
        may_edit=visit.may(Right.ADMIN, account.user_id),
        other_changes=other,
        base_version=base_version,
        saved=parameters.get("saved") == str(account.version),
        same=parameters.get("same") == "1",
        new=parameters.get("new") == "1",
        tab="settings",
    )
