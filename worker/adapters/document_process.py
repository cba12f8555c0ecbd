"""Reading, cutting and showing a document in a child process, which contains crashes, hangs and memory use.

Every reader gets untrusted bytes, and a thread cannot be stopped; short plain texts need none.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from worker import extras
from worker.documents.model import Chunk, DocumentFormat, Note, NoteCode, SourceText
from worker.errors import DocumentRejected

LIMIT_S: Final = 60.0
SHOW_S: Final = 20.0
"""Limit for the picture of a page, which a person waits for."""
MEMORY_BYTES: Final = 1024**3
"""Address space of a reader, an upper bound of its memory. 20 MB of HTML need 0.6 GB of it."""
MOST_CHARS: Final = 10_000_000
PLAIN: Final = (DocumentFormat.TEXT, DocumentFormat.MARKDOWN, DocumentFormat.CSV)
SHORT_BYTES: Final = 16 * 1024
"""Plain texts up to this size, which no library parses, are shown without a child: its start takes 40 ms."""
REFUSED: Final = 3
"""Exit code of a child that wrote the reason of its refusal to standard output."""
START: Final = f"from {__name__} import main; main()"
"""Without the library behind ``-m``; a start takes longer than reading most documents."""
ENVIRONMENT: Final = frozenset(
    {"PATH", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
    | {"PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH", "PYTHONUTF8"}
)
"""Variables that a reader gets, in addition to ``LC_*``. A reader of untrusted bytes gets no secret."""


class _Task(StrEnum):
    """What a child does with a document."""

    CUT = "cut"
    PICTURE = "picture"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The titles of a document.

    Attributes:
        title: given by a person; when empty, the document's own title counts.
        otherwise: the title of a document without one; when empty too, the document's first line.
    """

    title: str = ""
    otherwise: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What is stored of a document: its title, its chunks in order, and what its owner must know.

    Attributes:
        pages: how many it has; 0 where the format has none.
    """

    title: str
    chunks: tuple[Chunk, ...]
    notes: tuple[Note, ...] = ()
    pages: int = 0


async def cut(data: bytes, kind: DocumentFormat, names: Names, *, limit_s: float = LIMIT_S) -> Cut:
    """A document's title and chunks.

    Raises:
        DocumentRejected: its reader refuses it; it takes longer than ``limit_s`` or more than 1 GiB.
    """
    asked = {"title": names.title, "otherwise": names.otherwise}
    found = orjson.loads(await _run(_Task.CUT, data, kind, asked, limit_s))
    return Cut(
        title=found["title"],
        chunks=tuple(Chunk(**each) for each in found["chunks"]),
        notes=tuple(read_note(each) for each in found["notes"]),
        pages=found["pages"],
    )


async def picture(data: bytes, number: int) -> bytes:
    """A page of a PDF as a PNG; the number is from 1.

    Raises:
        DocumentRejected: it has no such page, or cannot be shown within the limits.
    """
    return await _run(_Task.PICTURE, data, DocumentFormat.PDF, {"number": number}, SHOW_S)


async def source(
    data: bytes, kind: DocumentFormat, passages: Sequence[str], wanted: slice
) -> list[list[SourceText]]:
    """The source's plain texts beside the wanted ones of all its passages.

    Raises:
        DocumentRejected: it has no plain text, or cannot be read within the limits.
    """
    if kind in PLAIN and len(data) <= SHORT_BYTES:
        from worker.documents.source_view import source_beside  # noqa: PLC0415  # the child starts without it

        return source_beside(data, kind, passages)[wanted]
    asked = {"passages": list(passages), "start": wanted.start, "stop": wanted.stop}
    found = orjson.loads(await _run(_Task.SOURCE, data, kind, asked, SHOW_S))
    return [[SourceText(**each) for each in texts] for texts in found]


async def _run(
    task: _Task, data: bytes, kind: DocumentFormat, asked: dict[str, Any], limit_s: float
) -> bytes:
    """What a child writes for a task."""
    import asyncio  # noqa: PLC0415  # the child starts without it: half its time

    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        START,
        task.value,
        kind.value,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if _is_passed_on(name)},
    )
    try:
        async with asyncio.timeout(limit_s):
            output, _ = await child.communicate(orjson.dumps(asked) + b"\n" + data)
    except TimeoutError as error:
        raise DocumentRejected(
            f"({kind}, {len(data):,} bytes) took longer than {limit_s:g} s to read, the limit:"
            " simplify or split it"
        ) from error
    except RuntimeError as error:  # uvloop raises it when the child ended before the write
        raise DocumentRejected(_crashed(data, kind)) from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == REFUSED:
        raise DocumentRejected(output.decode())
    if child.returncode != 0:
        raise DocumentRejected(_crashed(data, kind))
    return output


def read_note(found: dict[str, Any]) -> Note:
    """A note from its JSON object."""
    return Note(
        code=NoteCode(found["code"]),
        count=found["count"],
        of=found["of"],
        pages=tuple(found["pages"]),
        examples=tuple(found["examples"]),
    )


def _is_passed_on(name: str) -> bool:
    return name in ENVIRONMENT or name.startswith("LC_")


def _crashed(data: bytes, kind: DocumentFormat) -> str:
    limit = f"{MEMORY_BYTES // 1024**3} GiB"
    return f"({kind}, {len(data):,} bytes) makes its reader crash, or needs more than {limit}, the limit"


def main() -> None:
    """Standard input to standard output, within limits that hold when the parent is gone too."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(LIMIT_S), int(LIMIT_S)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asked = orjson.loads(sys.stdin.buffer.readline())
    data, kind = sys.stdin.buffer.read(), DocumentFormat(sys.argv[2])
    try:
        sys.stdout.buffer.write(_done(_Task(sys.argv[1]), data, kind, asked))
    except DocumentRejected as error:
        sys.stdout.write(str(error))
        sys.exit(REFUSED)
    except ModuleNotFoundError as error:
        if (missing := extras.missing_extra(error, needed_by="documents")) is None:
            raise
        sys.stdout.write(f"cannot be read here: {missing}")
        sys.exit(REFUSED)


def _done(task: _Task, data: bytes, kind: DocumentFormat, asked: dict[str, Any]) -> bytes:
    # large libraries: only in the child process
    match task:
        case _Task.CUT:
            return orjson.dumps(_cut(data, kind, Names(**asked)))
        case _Task.PICTURE:
            from worker.documents.page_picture import page_picture  # noqa: PLC0415

            return page_picture(data, asked["number"])
        case _Task.SOURCE:
            from worker.documents.source_view import source_beside  # noqa: PLC0415

            return orjson.dumps(source_beside(data, kind, asked["passages"])[asked["start"] : asked["stop"]])


def _cut(data: bytes, kind: DocumentFormat, names: Names) -> Cut:
    from worker.documents import readers  # noqa: PLC0415
    from worker.documents.chunking import document_chunks  # noqa: PLC0415

    parsed = readers.parse_document(data, kind)
    length = sum(len(block.text) for block in parsed.blocks)
    if length > MOST_CHARS:
        raise DocumentRejected(f"holds {length:,} characters, the limit is {MOST_CHARS:,}: split it")
    title = names.title or parsed.title or names.otherwise or parsed.first_line
    chunks = document_chunks(parsed, title=title)
    return Cut(title=title, chunks=chunks, notes=parsed.notes, pages=parsed.pages)
