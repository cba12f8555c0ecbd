"""Which files hold documents, what they are called in the database, and their bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from db.ingest import MOST_BYTES, PIPE, TOO_LARGE, File
from worker.documents import reading
from worker.errors import DocumentRejected


def files(path: str) -> tuple[list[Path], int]:
    """The documents at a path, sorted, and how many files were passed over: other formats and hidden ones."""
    root = Path(path)
    if not root.is_dir():
        return [root], 0
    found = [each for each in sorted(root.rglob("*")) if each.is_file()]
    kept = [
        each
        for each in found
        if each.suffix.lower() in reading.SUFFIXES
        and not any(part.startswith(".") for part in each.relative_to(root).parts)
    ]
    return kept, len(found) - len(kept)


def source_name(path: Path) -> str:
    """What a file is called in the database: its path from here, or from the root when it lies elsewhere."""
    if str(path) == PIPE:
        return PIPE
    whole = path.resolve()
    here = Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def read(path: Path) -> File:
    """A file, or standard input for ``-``.

    Raises:
        DocumentRejected: it cannot be opened, or is too large.
    """
    piped = str(path) == PIPE
    try:
        if piped:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DocumentRejected(f"cannot be opened: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise DocumentRejected(TOO_LARGE)
    return File(name="" if piped else path.name, source="" if piped else source_name(path), data=data)
