"""The schema of a database, to be compared with another one's."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from db.backup.dump import _run

IGNORED: Final = ("--", "\\restrict", "\\unrestrict")
PARENTHESES: Final = str.maketrans("", "", "()")


def schema_of(url: str) -> Counter[str]:
    """The lines of ``pg_dump --schema-only``, in no order.

    Partitions are left out, as they depend on the month, and parentheses, as a restore adds or removes some.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.sql"
        _run("pg_dump", url, "--schema-only", f"--file={file}", programs=None)
        lines = file.read_text(encoding="utf-8").splitlines()
    return Counter(
        line.strip().rstrip(",").translate(PARENTHESES)
        for line in lines
        if not line.startswith(IGNORED) and "ai_decisions_2" not in line
    )
