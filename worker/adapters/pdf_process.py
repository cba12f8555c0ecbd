"""A PDF read in a process of its own: what crashes, hangs or eats memory there harms nobody here."""

from __future__ import annotations

import asyncio
import resource
import sys
from typing import Final

import orjson

from worker.documents import pdf
from worker.documents.model import Block, Parsed
from worker.errors import DocumentRejected

LIMIT_S: Final = 60.0
MEMORY_BYTES: Final = 2 * 1024**3
REFUSED: Final = 3
"""Exit code of a child that says on standard output why it refuses."""


async def parsed(data: bytes) -> Parsed:
    """The text of a PDF.

    Raises:
        DocumentRejected: as ``worker.documents.pdf``; it takes over 60 s or 2 GiB; PDFium crashes.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "worker.adapters.pdf_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            output, _ = await child.communicate(data)
    except TimeoutError as error:
        raise DocumentRejected(f"could not be read within {LIMIT_S:.0f} s") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == REFUSED:
        raise DocumentRejected(output.decode())
    if child.returncode != 0:
        raise DocumentRejected("makes the PDF reader crash, or needs more than 2 GiB to read")
    found = orjson.loads(output)
    return Parsed(title=found["title"], blocks=tuple(Block(**block) for block in found["blocks"]))


def main() -> None:
    """Standard input to standard output, within a limit of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        document = pdf.parsed(sys.stdin.buffer.read())
    except DocumentRejected as error:
        sys.stdout.write(str(error))
        sys.exit(REFUSED)
    sys.stdout.buffer.write(orjson.dumps(document))


if __name__ == "__main__":
    main()
