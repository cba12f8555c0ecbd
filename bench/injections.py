"""Recall and false alarms of the check for instructions: ``python -m bench.injections [--passages FILE]...``.

The rows are our own, in injection_rows.tsv. ``--passages`` names files of ordinary texts, JSON Lines with the
field ``context``, plain or gzipped; each 1,200 characters count as one passage.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import orjson

from worker.injections import find_injection

ROWS: Final = Path(__file__).parent / "injection_rows.tsv"
MACRO: Final = re.compile(r"\{(tags|base64|wide|runs):([^}]*)\}")
PASSAGE_CHARS: Final = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionRow:
    """One text with what the check should say."""

    is_injection: bool
    family: str
    language: str
    text: str


def injection_rows() -> tuple[InjectionRow, ...]:
    """The rows of the file, with their macros expanded."""
    lines = [line for line in ROWS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    parts = [line.split("\t") for line in lines]
    return tuple(
        InjectionRow(
            is_injection=kind == "injection",
            family=family,
            language=language,
            text=MACRO.sub(_expanded, text.replace("\\n", "\n")),
        )
        for kind, family, language, text in parts
    )


def passages(path: Path) -> Iterator[str]:
    """The distinct passages of a file of grounding rows."""
    data = path.read_bytes()
    seen: dict[str, None] = {}
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        text = str(orjson.loads(line)["context"])
        for start in range(0, len(text), PASSAGE_CHARS):
            seen[text[start : start + PASSAGE_CHARS]] = None
    return iter(seen)


def main() -> None:
    """Print the tables, and every wrong row on standard error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=Path, action="append", default=[])
    files: list[Path] = parser.parse_args().passages
    tables: dict[str, Counter[tuple[str, bool]]] = {"family": Counter(), "language": Counter()}
    for row in injection_rows():
        flagged = find_injection(row.text) is not None
        group = "recall" if row.is_injection else "false alarms"
        for key in ((f"{group}, {row.family}", "family"), (f"{group}, {row.language}", "language")):
            tables[key[1]][key[0], flagged] += 1
        tables["family"][group, flagged] += 1
        if flagged is not row.is_injection:
            print(group, row.family, row.language, row.text[:150], sep="\t", file=sys.stderr)
    for name, counts in tables.items():
        _print_table(name, counts)
    for path in files:
        _print_passages(path)


def _print_table(name: str, counts: Counter[tuple[str, bool]]) -> None:
    print(f"\nby {name:30} flagged   of")
    for key in sorted({key for key, _ in counts}):
        flagged, other = counts[key, True], counts[key, False]
        print(f"  {key:31} {flagged:7} {flagged + other:4}  {100 * flagged / (flagged + other):5.1f} %")


def _print_passages(path: Path) -> None:
    texts = list(passages(path))
    begun = time.process_time()
    hits = [(text, found) for text in texts if (found := find_injection(text)) is not None]
    spent_ms = (time.process_time() - begun) * 1000 / max(1, len(texts))
    print(f"\n{path.name}: {len(hits)} of {len(texts)} ordinary passages flagged, {spent_ms:.3f} ms CPU each")
    for _, found in islice(hits, 20):
        print("  ", found.evidence, file=sys.stderr)


def _expanded(match: re.Match[str]) -> str:
    kind, text = match[1], match[2]
    if kind == "tags":
        return "".join(chr(0xE0000 + ord(char)) for char in text)
    if kind == "base64":
        return base64.b64encode(text.encode()).decode()
    return "\u200b" * int(text) if kind == "runs" else "\u200b".join(text)


if __name__ == "__main__":
    main()
