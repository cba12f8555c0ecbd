"""Counts lines, words, variables and dependencies: ``python -m tools.size`` prints one JSON object."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from features.feature import FEATURES
from worker.settings import ALIASES

ROOT: Final = Path(__file__).parent.parent
CORE: Final = ("worker", "tasks", "db", "review", "gateway", "cli", "features")
TOOLS: Final = (
    "sandbox",
    "cli/demo",
    "cli/stack",
    "cli/assess/conversation",
    "chaos",
    "fuzz",
    "bench",
    "tools",
)
MIGRATIONS: Final = "db/migrations"


def tracked(*places: str) -> list[str]:
    """The tracked files of these folders that exist."""
    done = subprocess.run(  # noqa: S603  # git, with our own words
        ["git", "ls-files", *places],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [each for each in done.stdout.splitlines() if (ROOT / each).is_file()]


def lines(files: list[str]) -> int:
    """Their lines."""
    return sum((ROOT / each).read_text(encoding="utf-8").count("\n") for each in files)


def python(*places: str, without: tuple[str, ...] = ()) -> int:
    """Lines of Python in these folders."""
    names = [each for each in tracked(*places) if each.endswith(".py")]
    return lines([each for each in names if not each.startswith(without)]) if places else 0


def main() -> None:
    """Print the figures."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    documents = [each for each in tracked("*.md") if not each.startswith("bench/conversations")]
    words = sum(len(re.findall(r"\S+", (ROOT / each).read_text(encoding="utf-8"))) for each in documents)
    own = (*TOOLS, MIGRATIONS)
    core = python(*CORE, without=own)
    features = {name: python(name) for name in FEATURES}
    figures = {
        "product": core + sum(features.values()),
        "core": core,
        **features,
        "tools": {
            "in product folders": python("sandbox", "cli/demo", "cli/stack", "cli/assess/conversation*"),
            "beside": python("chaos", "fuzz", "bench", "tools"),
        },
        "migrations": lines(
            [each for each in tracked(MIGRATIONS, "db/sql") if each.endswith((".py", ".sql"))]
        ),
        "tests": python("tests"),
        "documents, words": words,
        "environment variables": len(set(ALIASES.values())),
        "dependencies of a worker": len(project["dependencies"]),
        "extras": {name: len(each) for name, each in project["optional-dependencies"].items()},
    }
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
