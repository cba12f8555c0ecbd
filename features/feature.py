"""What an optional feature adds to the core, as names that only the process that needs them imports.

The core never imports a feature. It asks ``parts("pages")`` and gets the objects that the features in force
declare for that hook, in the order of ``FEATURES``. A feature that ``HUSHGATE_FEATURES`` leaves out adds only
what ``ALWAYS`` names: its tables and their rules stay, so that switching it on again finds its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any, Final

from dotenv import dotenv_values

from worker.errors import ConfigurationError

FEATURES: Final[tuple[str, ...]] = ("trials", "compliance")
VARIABLE: Final = "HUSHGATE_FEATURES"
NONE: Final = "none"
ALWAYS: Final = frozenset({"tables", "sql", "retention", "undone"})
"""Hooks of every installed feature, in force or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature. Each hook names an object as ``module:attribute``; an empty name adds nothing there."""

    name: str
    tables: str = ""  # module that adds its tables to the metadata
    sql: str = ""  # folder with the functions that ``db.schema.baseline`` creates, one file per topic
    retention: str = ""  # Sequence[db.retention.kept.TableRetention]: how long its tables are kept
    undone: str = ""  # async function of (connection, review id), in the transaction that withdraws a review
    pages: str = ""  # Sequence[review.http.page_routes.PageRoute]: pages and API, each with its right
    templates: str = ""  # folder of the templates of its pages and panels
    template_filters: str = ""  # Mapping of name to function
    navigation: str = ""  # Sequence[review.shell.links.NavigationLink]
    menu: str = ""  # Sequence[review.shell.menu.MenuEntry]: tabs of an account, buttons of a decision
    panels: str = ""  # Mapping of place (decision, subject, change, document ...) to async functions
    filters: str = ""  # Sequence[review.lists.filter_parsers.FilterField]: of lists, exports, API, commands
    background: str = ""  # Sequence of endless functions of the site, which the review server supervises
    beat_jobs: str = ""  # Sequence of endless functions of the settings, which beat supervises
    tasks: str = ""  # module of Celery tasks
    schedule: str = ""  # Mapping for Celery beat
    commands: str = ""  # Mapping of "command" or "group command" to its place, as in cli.main.COMMANDS
    groups: str = ""  # Mapping of a group of commands to its help
    on_settings: str = ""  # statement run in the transaction that stores an account's settings
    arms: str = ""  # async function of (pool, accounts): the settings tried on a share of conversations
    fleet_figures: str = ""  # async function of a connection: further fields of StoredFigures
    outgoing: str = ""  # Mapping of outgoing event types to their schemas


def declared() -> Sequence[Feature]:
    """Every feature of this installation, in force or not."""
    return tuple(import_module(f"{name}.feature").FEATURE for name in FEATURES)


def in_force() -> Sequence[Feature]:
    """The features that ``HUSHGATE_FEATURES`` names, separated by commas; by default all, with ``none`` none.

    Raises:
        ConfigurationError: a name is unknown.
    """
    wanted = os.environ.get(VARIABLE) or _in_file()
    names = {name.strip() for name in wanted.split(",") if name.strip()}
    if not names:
        return declared()
    if unknown := names - {*FEATURES, NONE} or (len(names) > 1 and names & {NONE}):
        expected = f"names among {', '.join(FEATURES)}, or {NONE} alone"
        raise ConfigurationError(f"{VARIABLE}: expected {expected}, got {', '.join(sorted(unknown))}")
    return tuple(feature for feature in declared() if feature.name in names)


def parts(hook: str) -> Sequence[Any]:
    """The objects that the features declare for ``hook``, a field of ``Feature``."""
    if hook not in {field.name for field in fields(Feature)}:
        raise ValueError(f"hook: expected a field of Feature, got {hook!r}")
    features = declared() if hook in ALWAYS else in_force()
    return tuple(_named(name) for feature in features if (name := getattr(feature, hook)))


def items(hook: str) -> Sequence[Any]:
    """The items of the sequences that the features declare for ``hook``, one after another."""
    return tuple(item for part in parts(hook) for item in part)


def merged(hook: str) -> dict[str, Any]:
    """The mappings that the features declare for ``hook``, as one."""
    return {key: value for part in parts(hook) for key, value in part.items()}


def panels(place: str) -> tuple[Callable[..., Any], ...]:
    """The functions that the features declare for a place of a page."""
    return tuple(each for part in parts("panels") for each in part.get(place, ()))


@cache
def _in_file() -> str:
    """The value in ``.env``; read once, as pages ask for their panels each time."""
    return dotenv_values(".env").get(VARIABLE) or ""


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
