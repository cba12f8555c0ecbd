"""The identity of the matcher's build: equal builds compile equal rule sets."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_SOURCES = frozenset({".py", ".tsv", ".txt"})


@cache
def build_id() -> str:
    """SHA-256, 16 hex digits, of the matcher's code and tables."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.suffix in _SOURCES:
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]
