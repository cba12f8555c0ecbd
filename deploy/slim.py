"""Makes an environment small that an image is copied from: python slim.py [STAMP], run by its own Python.

Leaves out what no process of Hushgate loads, takes debug information out of compiled modules (those newer
than the file STAMP, where one is given), and writes bytecode for the modules that Hushgate imports, as the
image's file system is read-only. Importing them also shows that nothing is missing.
"""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Final

PACKAGES: Final = Path(sysconfig.get_path("purelib"))
UNUSED: Final = (
    "phonenumbers/geodata",  # names of places; masking asks only whether a number is possible
    "phonenumbers/carrierdata",
    "phonenumbers/tzdata",
    "sqlalchemy/dialects/mssql",
    "sqlalchemy/dialects/mysql",
    "sqlalchemy/dialects/oracle",
    "sqlalchemy/testing",
)
SOURCES: Final = ("*.c", "*.h", "*.pxd", "*.pyi", "*.pyx")
LEXERS: Final = PACKAGES / "pygments" / "lexers"
OURS: Final = sorted({file.parts[0] for file in metadata.files("hushgate") or () if file.suffix == ".py"})
AT_RUN_TIME: Final = (
    *("kombu.transport.redis", "celery.bin.worker", "celery.bin.beat", "celery.concurrency.thread"),
    *("celery.worker.worker", "psycopg_binary", "pygments.lexers.special"),
)
"""Modules that libraries import by name."""


def remove_unused() -> None:
    """Delete data that no module of ours reads, and the sources of compiled modules."""
    for name in UNUSED:
        shutil.rmtree(PACKAGES / name, ignore_errors=True)
    for pattern in SOURCES:
        for file in PACKAGES.rglob(pattern):
            file.unlink()


def strip(since: float) -> None:
    """Take the debug information out of compiled modules newer than ``since``, in seconds since 1970."""
    libraries = [each for each in PACKAGES.rglob("*.so*") if each.is_file() and each.stat().st_mtime > since]
    if libraries:
        subprocess.run(["strip", "--strip-unneeded", *libraries], check=True)  # noqa: S603, S607  # of the image


def compile_imported() -> None:
    """Import each module of Hushgate whose extra is installed: Python writes the bytecode of all it loads."""
    os.environ |= {"DATABASE_URL": "postgresql://none/none", "REDIS_URL": "redis://none"}
    for package in OURS:
        place = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(place, f"{package}.", onerror=lambda _name: None):
            if not module.name.endswith(".__main__") and ".migrations." not in module.name:
                import_if_installed(module.name)
    for name in AT_RUN_TIME:
        importlib.import_module(name)


def import_if_installed(name: str) -> None:
    """Import the module, unless it needs an extra that the environment lacks."""
    missing_extra = importlib.import_module("worker.extras").missing_extra
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if missing_extra(error, needed_by=name) is None:
            raise


def remove_unused_lexers() -> None:
    """Delete the lexers of Pygments that no import has loaded: 4 MB."""
    for file in LEXERS.glob("*.py"):
        if f"pygments.lexers.{file.stem}" not in sys.modules and file.stem != "__init__":
            file.unlink()


if __name__ == "__main__":
    remove_unused()
    strip(Path(sys.argv[1]).stat().st_mtime if sys.argv[1:] else 0)
    compile_imported()
    remove_unused_lexers()
