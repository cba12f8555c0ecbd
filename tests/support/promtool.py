"""Prometheus and its promtool, from the package prometheus that `make prometheus` unpacks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

UNPACKED: Final = Path(__file__).parents[2] / ".venv" / "prometheus" / "usr" / "bin"
PATIENCE_S: Final = 120


def program(name: str) -> str:
    """The path of ``promtool`` or ``prometheus``."""
    found = shutil.which(name) or shutil.which(name, path=str(UNPACKED))
    assert found, f"no {name}: run make prometheus"
    return found


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A run of promtool, with what it printed."""
    command = [program("promtool"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
