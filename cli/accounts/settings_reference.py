"""A reference of all account settings, for ``hushgate accounts settings`` and ``docs/settings.md``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from cli.output import json_text
from worker.account_settings import SETTINGS, AccountSettings, kind_of
from worker.model import Account
from worker.moderator_settings import MODERATOR_PARTS, ModeratorSettings
from worker.setting_description import Setting, SettingKind

INTRODUCTION: Final = """# Account settings

`hushgate accounts settings` prints this list; `accounts set` and the settings page change an account.
`make schema` writes this file from the declarations in `worker/account_settings.py`.

| setting | value | default | meaning |
|---|---|---|---|
"""


def list_settings() -> list[dict[str, str]]:
    """One row per setting, in the order of their declaration."""
    defaults = Account(user_id="", version=0)
    schema = AccountSettings.model_json_schema()
    rows = []
    for name, each in SETTINGS.items():
        rows.append(_row(name, each, schema["properties"][name], schema["$defs"], getattr(defaults, name)))
        if kind_of(name) is SettingKind.RECORDS:
            rows += _part_rows(name, schema["$defs"])
    return rows


def _part_rows(name: str, definitions: dict[str, Any]) -> Iterator[dict[str, str]]:
    """One row per part of the moderators."""
    parts = definitions[ModeratorSettings.__name__]["properties"]
    for part, each in MODERATOR_PARTS.items():
        yield _row(f"{name}[].{part}", each, parts[part], definitions, parts[part].get("default", ""))


def _row(
    name: str, setting: Setting, schema: dict[str, Any], definitions: dict[str, Any], default: Any
) -> dict[str, str]:
    return {
        "setting": name,
        "value": _value_words(schema, definitions),
        "default": json_text(default),
        "meaning": " ".join((f"{setting.title}.", setting.help, *_words_beside(setting))),
    }


def as_markdown() -> str:
    """The page ``docs/settings.md``."""
    rows = (
        f"| `{row['setting']}` | {row['value']} | `{row['default']}` | {row['meaning']} |\n"
        for row in list_settings()
    )
    return INTRODUCTION + "".join(rows)


def _words_beside(setting: Setting) -> Iterator[str]:
    if setting.document:
        yield f"See docs/{setting.document}."
    if setting.choices:
        yield "; ".join(f"{value}: {meaning}" for value, meaning in setting.choices.items()) + "."


def _value_words(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A JSON Schema in words, such as ``number from 0 to 1``."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    match schema:
        case {"anyOf": [either, {"type": "null"}]}:
            words = f"{_value_words(either, definitions)}, or null"
        case {"type": "array", "items": each, "maxItems": most}:
            words = f"list of at most {most} items, each {_value_words(each, definitions)}"
        case {"type": "object", "properties": parts}:
            words = f"object with {', '.join(parts)}"
        case {"type": "object", "patternProperties": each}:
            words = f"object, each value {_value_words(next(iter(each.values())), definitions)}"
        case _:
            words = _plain_words(schema)
    return words


def _plain_words(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": values}:
            words = ", ".join(values[:-1]) + f" or {values[-1]}"
        case {"type": "boolean"}:
            words = "true or false"
        case {"type": "number" | "integer" as kind, "minimum": least, "maximum": most}:
            words = f"{'whole number' if kind == 'integer' else 'number'} from {least} to {most}"
        case {"type": "string", "maxLength": most}:
            words = f"text of at most {most} characters"
        case {"type": "string", "pattern": pattern}:
            words = f"text matching {pattern}"
        case _:
            words = str(schema["type"])
    return words
