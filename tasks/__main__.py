"""``python -P -m tasks worker`` or ``beat``: Celery with our application, also beside a host's ``tasks.py``.

``celery -A tasks.app`` looks in the current folder first, and loads every command of Celery with its shell
and what libraries use only where it is installed: 20 MB that a worker never needs.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import CDLL
from importlib import import_module
from typing import Final

UNUSED: Final = {
    "structlog": "rich",
    "kombu.serialization": "yaml",
    "redis": "opentelemetry.sdk.metrics",
    "sqlalchemy": "greenlet",
    "celery.bin.base": "pygments",
}
"""Optional dependencies of libraries, for colours, formats, metrics and a mode that we never ask for."""
M_ARENA_MAX: Final = -8
"""glibc's ``mallopt``: one heap for all threads, of which at most one runs Python at a time."""


def import_lean() -> None:
    """Import the libraries in ``UNUSED`` as where their optional dependency is not installed."""
    for library, unused in UNUSED.items():
        sys.modules[unused] = None  # type: ignore[assignment]  # documented: its import raises ImportError
        import_module(library)
        del sys.modules[unused]


def main() -> None:
    """Run the command of Celery that the arguments name, with as little memory as it needs."""
    with suppress(AttributeError):  # another C library
        CDLL(None).mallopt(M_ARENA_MAX, 1)
    import_lean()
    name = sys.argv[1]
    command = getattr(import_module(f"celery.bin.{name}"), name)
    context = import_module("celery.bin.base").CLIContext(
        app=import_module("tasks.app").app, no_color=False, workdir=None
    )
    command.main(sys.argv[2:], obj=context, prog_name=f"hushgate {name}", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
