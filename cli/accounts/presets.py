"""``hushgate accounts preset``: named sets of settings, listed, previewed and stored."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.accounts import store_account
from cli.output import emit, emit_json, fail, json_text, print_message, stdout_is_terminal
from worker.account_settings import SETTINGS, changed
from worker.model import Account, ReplyMode
from worker.presets import PRESETS, PresetKind, PresetName, preset_changes, preset_of

NEW = Account(user_id="new", version=0)
"""Stands for the account while no account is named."""


def preset(
    name: Annotated[
        PresetName | None, typer.Argument(help="The preset; without a name all are listed.")
    ] = None,
    account: Annotated[str | None, typer.Option("--account", "-a", help="The account (user_id).")] = None,
    save: Annotated[bool, typer.Option("--save", help="Store the changes as a new version.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, also on a terminal.")] = False,
) -> None:
    """Show what a preset changes; with --save, store the changes.

    A preset is a level of care (careful, balanced, open) or a published design in one choice, such as
    failsafe-node. For example:

        hushgate accounts preset confidence-guardrail --account acme

        hushgate accounts preset confidence-guardrail --account acme --save
    """
    if save and (name is None or account is None):
        raise fail("--save: expected the name of a preset and --account as well")
    stored = NEW if account is None else asyncio.run(store_account.load(account))
    plain = as_json or not stdout_is_terminal()
    if name is None:
        _list(stored if account else None, plain=plain)
        return
    after = changed(stored, preset_changes(name, stored))
    version = None
    if save and account is not None and after != stored:
        version = asyncio.run(store_account.save(account, preset_changes(name, stored)))
    _show(name, _changes(stored, after), _risks(stored, after), version, plain=plain)
    if PRESETS[name].kind is PresetKind.DESIGN and after.reply_mode is ReplyMode.SUGGEST:
        target = f" --account {account} --save" if account else ""
        command = f"hushgate accounts preset open{target}"
        print_message(f"Answers wait for a person's approval: {command} sends them at once.", style="yellow")
    if not save:
        missing = "--save" if account else "--account and --save"
        print_message(f"Nothing is stored: add {missing} to store the preset.", style="yellow")


def _list(account: Account | None, *, plain: bool) -> None:
    in_force = set() if account is None else {preset_of(account, kind) for kind in PresetKind}
    rows = [
        {"preset": name, "kind": each.kind, "title": each.title, "in_force": name in in_force}
        | {"summary": each.summary, "needs": list(each.needs)}
        for name, each in PRESETS.items()
    ]
    if plain:
        for row in rows:
            emit_json(row)
    else:
        emit(rows, ["preset", "kind", "title", "summary"] + ["in_force"] * (account is not None))


def _changes(before: Account, after: Account) -> list[dict[str, Any]]:
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in SETTINGS)
    return [{"setting": name, "before": old, "after": new} for name, old, new in pairs if old != new]


def _risks(before: Account, after: Account) -> list[str]:
    return [
        str(risk)
        for name, setting in SETTINGS.items()
        for risk in setting.warnings(getattr(before, name), getattr(after, name))
    ]


def _show(
    name: PresetName, changes: list[dict[str, Any]], risks: list[str], version: int | None, *, plain: bool
) -> None:
    found = PRESETS[name]
    if plain:
        emit_json(
            {"preset": name, "title": found.title, "summary": found.summary, "needs": list(found.needs)}
            | {"changes": changes, "risks": risks, "version": version}
        )
        return
    print_message(f"{found.title}: {found.summary}", style="default")
    rows = [
        each | {"before": json_text(each["before"]), "after": json_text(each["after"])} for each in changes
    ]
    emit(rows, ["setting", "before", "after"])
    for need in found.needs:
        print_message(f"It needs: {need}", style="default")
    for risk in risks:
        print_message(risk, style="yellow")
    if version is not None:
        print_message(f"Stored as version {version}.", style="green")
