"""What an optional feature adds to the core, as names that only the process that needs them imports.

The core never imports a feature. It asks ``parts("pages")`` and gets the objects that the features in force
declare for that hook, in the order of ``FEATURES``. A feature that ``HUSHGATE_FEATURES`` leaves out adds only
its tables: they stay, so that switching it on again finds its rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Final

FEATURES: Final[tuple[str, ...]] = ()
VARIABLE: Final = "HUSHGATE_FEATURES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature. Each hook names an object as ``module:attribute``; an empty name adds nothing there."""

    name: str
    tables: str = ""  # sqlalchemy.MetaData-bound tables module; always loaded, in force or not
    pages: str = ""  # Sequence[review.http.routing.Page]: pages and API, each with its right
    menu: str = ""  # Sequence of navigation entries
    panels: str = ""  # Mapping of place (decision, account, home) to functions that render a fragment
    filters: str = ""  # Sequence of fields for lists, exports, API and command line
    tasks: str = ""  # module of Celery tasks
    schedule: str = ""  # Mapping for Celery beat
    commands: str = ""  # Mapping of command to "module:attribute", as in cli.main.COMMANDS
    on_commit: str = ""  # functions of (transaction, decision, run) inside the commit of a decision
    arms: str = ""  # chooses the settings that decide a conversation
    outgoing: str = ""  # Mapping of outgoing event types to their schemas
    erased: str = ""  # Sequence of tables and columns that an erasure empties


def declared() -> Sequence[Feature]:
    """Every feature of this installation, in force or not."""
    return tuple(import_module(f"{name}.feature").FEATURE for name in FEATURES)


def in_force() -> Sequence[Feature]:
    """The features that ``HUSHGATE_FEATURES`` names (comma separated, default all). Raises ValueError."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return declared()
    names = {name.strip() for name in wanted.split(",") if name.strip()}
    if unknown := names - set(FEATURES):
        raise ValueError(
            f"{VARIABLE}: expected names among {', '.join(FEATURES)}, got {', '.join(sorted(unknown))}"
        )
    return tuple(feature for feature in declared() if feature.name in names)


def parts(hook: str) -> Sequence[Any]:
    """The objects that the features declare for ``hook``, a field of ``Feature``."""
    if hook not in {field.name for field in fields(Feature)}:
        raise ValueError(f"hook: expected a field of Feature, got {hook!r}")
    features = declared() if hook == "tables" else in_force()
    return tuple(_named(name) for feature in features if (name := getattr(feature, hook)))


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
