"""A local list of breached passwords: sorted SHA-1 hashes, found by bisection in the file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import BinaryIO, Final

LINE: Final = re.compile(rb"[0-9A-Fa-f]{40}(:[0-9]+)?\r?\n?")
LINE_BYTES: Final = 80
"""Longest line that is read: a hash, a colon, a count."""


class BreachedPasswords:
    """The list at a path; the format of the ordered download of Have I Been Pwned."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def problem(self) -> str:
        """Why the file cannot be used, or an empty text; reads its first two lines and its last one."""
        try:
            with self._path.open("rb") as file:
                first, second = file.readline(LINE_BYTES), file.readline(LINE_BYTES)
                last = _line_at(file, max(0, self._path.stat().st_size - 2))[1]
        except OSError as error:
            return f"expected a readable file, got {error.strerror or type(error).__name__}"
        lines = [each for each in (first, second, last) if each]
        if not lines or not all(LINE.fullmatch(each) for each in lines):
            return "expected lines of 40 hexadecimal digits"
        hashes = [each[:40].upper() for each in lines]
        return "" if hashes == sorted(hashes) else "expected sorted lines"

    def contain(self, password: str) -> bool:
        """Whether the list has this password; raises ``OSError``: the file cannot be read."""
        wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
        with self._path.open("rb") as file:
            low, high = 0, self._path.stat().st_size
            while low < high:
                begin, line = _line_at(file, (low + high) // 2)
                found = line[:40].upper()
                if found == wanted:
                    return True
                if found < wanted:
                    low = begin + len(line)
                else:
                    high = begin
        return False


def _line_at(file: BinaryIO, position: int) -> tuple[int, bytes]:
    """The line that holds a position, and where it begins."""
    begin = max(0, position - LINE_BYTES)
    file.seek(begin)
    before = file.read(position - begin)
    begin += before.rfind(b"\n") + 1 if b"\n" in before else 0
    file.seek(begin)
    return begin, file.readline(LINE_BYTES)
