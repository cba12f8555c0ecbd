"""The identity of the matcher's build: equal builds compile equal rule sets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

_SOURCES = (".py", ".tsv", ".json", ".txt")


@cache
def build_id() -> str:
    """SHA-256, 16 hex digits, of the matcher's code and tables."""
    digest = hashlib.sha256()
    for file in _source_files(resources.files("worker.rules")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _source_files(folder: Traversable) -> Iterator[Traversable]:
    for each in sorted(folder.iterdir(), key=lambda found: found.name):
        if each.is_dir():
            yield from _source_files(each)
        elif each.name.endswith(_SOURCES):
            yield each
