"""Paths of this site that a form or a URL names: where a person returns to."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

START: Final = "/"


def local_path(target: str | None) -> str:
    """The target when it is a path of this site, else the start page."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return START
    parts = urlsplit(target)
    return START if parts.scheme or parts.netloc or "\\" in target or not target.isprintable() else target
