"""Settings as sentences: presets, sliders with their effect on last week's replies, and the review."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.account_settings.account_versions import AccountVersion
from db.audit.sent_replies import measured_replies
from db.rows import Row
from review.access import Right
from review.accounts.account_changes import change_warnings, difference
from review.accounts.recommended import recommended_limit
from review.accounts.rule_texts import version_in
from review.accounts.stored_versions import store_change, version_in_force
from review.content_covers import category_wording
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.owner import sentences, what_if
from review.owner.presets import PRESETS, PresetName, preset_changes, preset_of
from review.owner.sentences import HOURS, THRESHOLDS, SentenceForm
from review.owner.what_if import WhatIf
from review.panels import load_panels
from review.typed.durations import TimeUnit, unit_name
from worker.account_settings import changed
from worker.model import Account, Weekday

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEffect:
    """What a typed threshold would have done; ``found`` is None where the replies were not read in time."""

    title: str
    percent: str
    found: WhatIf | None


async def show_sentences(visit: Visit) -> Response:
    """The settings in force."""
    stored = await version_in_force(visit)
    return await _page(visit, stored, sentences.form_of_account(stored.account))


async def save_sentences(visit: Visit) -> Response:
    """Show the changes of the form or of a preset; with the action ``store``, store them."""
    stored = await version_in_force(visit)
    typed, action = sentences.parse_sentences(visit.form), visit.field("action")
    if action == "check" and visit.partial:
        return visit.render("owner/_what_if.html", effects=await _effects(visit, stored.account, typed))
    preset = _preset_in(visit)
    account = (
        changed(stored.account, preset_changes(preset, stored.account))
        if preset
        else sentences.account_from_sentences(typed, stored.account)
    )
    if account is None:
        return await _page(visit, stored, typed, status=422)
    if version_in(visit.form) != stored.account.version:
        return await _conflict(visit, stored, typed)
    if action in {"back", "check"}:
        return await _page(visit, stored, typed)
    if action != "store" and account != stored.account:
        return await _review(visit, stored, typed, account, preset)
    answer = await store_change(visit, stored.account, account, LoggedAction.SETTINGS, page="sentences")
    return answer or await _conflict(visit, await version_in_force(visit), typed)


def _preset_in(visit: Visit) -> PresetName | None:
    name = visit.field("preset")
    if name and name not in set(PresetName):
        text = f"preset: expected one of {', '.join(PresetName)}, got {name[:40]!r}."
        raise Refused(400, "Not understood", text)
    return PresetName(name) if name else None


async def _review(
    visit: Visit, stored: AccountVersion, typed: SentenceForm, account: Account, preset: PresetName | None
) -> Response:
    return visit.render(
        "owner/review.html",
        account=account.user_id,
        stored=stored,
        change=difference(stored.account, account),
        risks=change_warnings(stored.account, account),
        typed=typed,
        preview=(await load_panels("change", visit, account)).html,
        preset=preset,
        chosen=PRESETS[preset] if preset else None,
        tab="sentences",
    )


async def _conflict(visit: Visit, stored: AccountVersion, typed: SentenceForm) -> Response:
    """Another person stored a version meanwhile: their changes, above what was typed."""
    version, user_id = version_in(visit.form), stored.account.user_id
    base = await account_versions.get_version(visit.store.pool, user_id, version)
    before = base.account if base else Account(user_id=user_id, version=0)
    return await _page(visit, stored, typed, other=difference(before, stored.account), status=409)


async def _effects(visit: Visit, account: Account, typed: SentenceForm) -> tuple[SettingEffect, ...]:
    """The effect of every threshold in the form, on the newest replies of the last days."""
    since = visit.now - timedelta(days=DAYS)
    rows = await visit.store.read_lists(
        lambda replica: measured_replies(replica, account.user_id, since, MOST_REPLIES)
    )
    return tuple(_each_effect(typed, rows))


def _each_effect(typed: SentenceForm, rows: tuple[Row, ...] | None) -> Iterator[SettingEffect]:
    titles = {"auto_from_confidence": _("Sent without approval"), "send_at": _("Lowest confidence")}
    for name, title in titles.items():
        if (share := sentences.typed_share(typed, name)) is not None:
            found = None if rows is None else what_if.with_confidence(rows, share)
            yield SettingEffect(title=title, percent=typed.fields[name], found=found)
    for name, category in THRESHOLDS.items():
        if (share := sentences.typed_share(typed, name)) is not None:
            found = None if rows is None else what_if.with_category(rows, category, share)
            yield SettingEffect(title=category_wording(category), percent=typed.fields[name], found=found)


async def _page(
    visit: Visit, stored: AccountVersion, typed: SentenceForm, *, status: int = 200, other: object = None
) -> Response:
    parameters, account = visit.request.query_params, stored.account
    limit = recommended_limit(account)
    return visit.render(
        "owner/sentences.html",
        status=status,
        account=account.user_id,
        stored=stored,
        typed=typed,
        units=list(TimeUnit),
        unit_name=unit_name,
        recommended="" if limit is None else f"{100 * limit:.0f}",
        presets=PRESETS,
        current=preset_of(account),
        thresholds=THRESHOLDS,
        hours={field: WEEKDAYS[Weekday(day)] for field, day in HOURS.items()},
        calibrated=sentences.is_calibrated(account),
        effects=await _effects(visit, account, typed),
        may_edit=visit.may(Right.ADMIN, account.user_id),
        other_changes=other,
        saved=parameters.get("saved") == str(account.version),
        same=parameters.get("same") == "1",
        tab="sentences",
    )
