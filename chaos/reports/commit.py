"""Which code a run tested."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[2]


def commit_of_the_code() -> str:
    """The commit, with ``+`` after it where files were changed; empty outside of a git checkout."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return f"{commit}+" if commit and _git("status", "--porcelain") else commit


def _git(*words: str) -> str:
    try:
        ended = subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""
