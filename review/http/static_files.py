"""Addresses of static files, which change with their content."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent.parent / "static"


def static_url(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may cache it forever."""
    return f"/static/{name}?v={_fingerprint(name)}"


@cache
def _fingerprint(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
