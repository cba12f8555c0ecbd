"""What an optional feature adds to the core, as names that only the process that needs them imports.

The core never imports a feature. It calls ``hook_values("pages")`` and gets the objects that the features in
force declare for that hook, in the order of ``FEATURES``. A feature that ``HUSHGATE_FEATURES`` leaves out
adds only what ``ALWAYS`` names: its tables and their rules stay, so that switching the feature on again finds
its rows.
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
    """One feature. Each hook names an object as ``module:attribute``; an empty name adds nothing there.

    ``async (a, b) -> c`` is an async function; ``Connection``, ``Pool``, ``Visit`` and ``Panel`` are those of
    ``db.connection``, ``db.pool``, ``review.http.visit`` and ``review.panels``.
    """

    name: str
    tables: str = ""  # module that adds its tables to the metadata
    sql: str = ""  # Path of the folder with SQL that db.schema.baseline runs, a file per topic
    retention: str = ""  # Sequence[db.retention.kept.TableRetention]
    undone: str = (
        ""  # async (Connection, review_id: UUID) -> None, in the transaction that withdraws a review
    )
    pages: str = ""  # Sequence[review.http.page_routes.PageRoute]: pages and API, each with its right
    templates: str = ""  # Path of the folder with the templates of its pages and panels
    template_filters: str = ""  # Mapping[str, Callable]: functions by their name in templates
    navigation: str = ""  # Sequence[review.shell.links.NavigationLink]
    menu: str = ""  # Sequence[review.shell.menu.MenuEntry]: links on pages of accounts and decisions
    panels: str = ""
    """Mapping[place, Sequence of async functions], each called in the page's request:

    - decision, decision_review: (Connection, review.decision.panels.PanelSubject) -> Panel
    - subject: (Visit, db.collaboration.subjects.Subject) -> Panel
    - change: (Visit, Account with the change) -> Panel
    - document: (Visit, account: str) -> the prefilled fields of the form, by name; empty for none
    """
    filters: str = ""  # Sequence[review.lists.filter_parsers.FilterField]: of lists, exports, API, commands
    jobs: str = ""  # Sequence[features.jobs.BackgroundJob]: tasks that beat sends, and endless jobs
    tasks: str = ""  # module of Celery tasks
    commands: str = ""  # Mapping of "command" or "group command" to its place, as in cli.main.COMMANDS
    groups: str = ""  # Mapping[str, str]: the help of each group of commands
    on_settings: str = ""
    """SQL with ``user_id``, ``made_by`` and ``version``, run after each new version of an account's settings,
    in the transaction that stores the version."""
    rollouts: str = ""
    """async (Pool, user_ids: Collection[str]) -> Mapping[user_id, RunningRollout], in workers; the first
    feature with this hook counts. ``RunningRollout`` is that of ``worker.running_rollouts``."""
    fleet_figures: str = ""  # async (Connection) -> Mapping: further fields of db.fleet.figures.StoredFigures
    outgoing: str = ""  # Mapping[event type, type[pydantic.BaseModel]]: bodies of outgoing events


def declared() -> Sequence[Feature]:
    """Every feature of this installation, in force or not."""
    return tuple(import_module(f"{name}.feature").FEATURE for name in FEATURES)


def in_force() -> Sequence[Feature]:
    """The features that ``HUSHGATE_FEATURES`` names, separated by commas; all by default, empty for ``none``.

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


def hook_values(hook: str) -> Sequence[Any]:
    """The objects that the features declare for ``hook``, a field of ``Feature``."""
    if hook not in {field.name for field in fields(Feature)}:
        raise ValueError(f"hook: expected a field of Feature, got {hook!r}")
    features = declared() if hook in ALWAYS else in_force()
    return tuple(_named(name) for feature in features if (name := getattr(feature, hook)))


def hook_items(hook: str) -> Sequence[Any]:
    """The items of the sequences that the features declare for ``hook``, one after another."""
    return tuple(item for part in hook_values(hook) for item in part)


def hook_mapping(hook: str) -> dict[str, Any]:
    """The mappings that the features declare for ``hook``, as one."""
    return {key: value for part in hook_values(hook) for key, value in part.items()}


def panel_functions(place: str) -> tuple[Callable[..., Any], ...]:
    """The functions that the features declare for a place of a page."""
    return tuple(each for part in hook_values("panels") for each in part.get(place, ()))


@cache
def _in_file() -> str:
    """The value in ``.env``; read once, as pages ask for their panels each time."""
    return dotenv_values(".env").get(VARIABLE) or ""


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
