"""Which matcher this is: equal builds compile equal sets."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources


@cache
def build() -> str:
    """SHA-256, 16 hex digits, of the matcher's code and tables."""
    digest = hashlib.sha256()
    folder = resources.files("worker.rules")
    for part in (folder, folder / "data"):
        for file in sorted(part.iterdir(), key=lambda each: each.name):
            if file.is_file() and file.name.endswith((".py", ".tsv", ".json", ".txt")):
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]
