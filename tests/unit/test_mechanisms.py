"""One mechanism for each purpose: a second one is found here."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("features", "worker", "tasks", "db", "review", "gateway", "cli")


def files_with(pattern: str) -> set[str]:
    """Files of the product in which a pattern occurs."""
    found = re.compile(pattern)
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix() for path in paths if found.search(path.read_text())}


def test_every_script_of_redis_runs_through_one_class() -> None:
    """``LuaScript`` sends a script by its hash and its text only to a node that does not know it."""
    assert files_with(r"register_script|\bevalsha\b|(?<!self)\.eval\(") == {"tasks/shards/clients.py"}
