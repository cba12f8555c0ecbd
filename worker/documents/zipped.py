"""Office files are ZIP archives of XML: their limit, and the errors that damage in them causes."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Final
from xml.parsers.expat import ExpatError

from worker.errors import DocumentRejected

MOST_BYTES: Final = 200 * 1024 * 1024
DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    ExpatError,
    SyntaxError,  # of ElementTree
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    OSError,
    EOFError,
    RuntimeError,  # an encrypted archive, or one of an unknown version
)
"""What mammoth, openpyxl and the standard library raise for a damaged file."""


def check_unpacked_size(data: bytes) -> None:
    """Refuse an archive that unpacks to more than the limit.

    Raises:
        DocumentRejected: it does.
        BadZipFile: it is no archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        if sum(each.file_size for each in file.infolist()) > MOST_BYTES:
            raise DocumentRejected(f"unpacks to more than {MOST_BYTES // 1024**2} MiB, the limit: split it")
