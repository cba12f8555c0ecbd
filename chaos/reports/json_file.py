"""Results as JSON files."""

from __future__ import annotations

from pathlib import Path

import orjson


def write_json(path: Path, document: object) -> None:
    """Write a document; the file is replaced in one step, and its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    part.replace(path)
