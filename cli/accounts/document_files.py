"""Document files: their paths, their source names in the database, and their bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from db.documents.ingest import MOST_BYTES, PIPE, TOO_LARGE, DocumentFile
from worker.documents import reading
from worker.errors import DocumentRejected


def find_documents(path: str) -> tuple[list[Path], list[Path]]:
    """The documents at a path, and the skipped files: other formats and hidden ones; both sorted."""
    root = Path(path)
    if not root.is_dir():
        return [root], []
    found = [each for each in sorted(root.rglob("*")) if each.is_file()]
    kept = [
        each
        for each in found
        if each.suffix.lower() in reading.SUFFIXES
        and not any(part.startswith(".") for part in each.relative_to(root).parts)
    ]
    return kept, sorted(set(found) - set(kept))


def source_name(path: Path) -> str:
    """The source name of a file: its path relative to the current folder, or absolute outside of it."""
    if str(path) == PIPE:
        return PIPE
    whole = path.resolve()
    here = Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def read_document(path: Path) -> DocumentFile:
    """A document's bytes, from a file or for ``-`` from standard input.

    Raises:
        DocumentRejected: the file cannot be opened, or is too large.
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
    return DocumentFile(name="" if piped else path.name, source="" if piped else source_name(path), data=data)
