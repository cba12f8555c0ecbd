"""Fuzz one target in this process: ``python -m fuzz.run NAME`` and options of libFuzzer.

Coverage of our packages and of the readers in Python steers it; ``python -m fuzz`` starts one process a
target.
"""

from __future__ import annotations

import sys
from typing import Final

import atheris

OURS: Final = ("worker", "tasks", "db", "gateway", "review", "examples")
READERS: Final = ("json", "csv", "html", "urllib", "yaml", "markdown_it")

with atheris.instrument_imports(include=[*OURS, *READERS], enable_loader_override=False):
    from fuzz.targets import BY_NAME


def main() -> None:
    """Hand the target to libFuzzer, which ends the process."""
    target = BY_NAME[sys.argv[1]]
    again = f"{sys.executable} -m fuzz.run {target.name}"  # libFuzzer starts itself by its name to merge
    atheris.Setup([again, *sys.argv[2:]], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
