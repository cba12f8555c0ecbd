"""One look of a page: where its parts are, and a thumbnail of its colours; and how two looks differ."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

COLUMNS: Final = 64
ROWS: Final = 40
MOST_PX: Final = 12
"""Pixels that an edge may be away from where it was."""
MOST_MEAN: Final = 1.5
"""Mean difference of all cells, of 255."""
MOST_CELL: Final = 32
"""Difference of the worst cell in one of the three colours, of 255."""
FILE: Final = Path(__file__).with_name("snapshots.json")
Box: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A page at one size in one theme.

    Attributes:
        boxes: landmark -> left, top, right, bottom of its visible part in pixels.
        cells: red, green and blue of each cell of the thumbnail, row by row.
    """

    boxes: dict[str, Box]
    cells: bytes

    def line(self) -> str:
        """As one line of the file."""
        packed = base64.b85encode(zlib.compress(self.cells, 9)).decode()
        return json.dumps({"boxes": self.boxes, "cells": packed}, separators=(",", ":"))

    @classmethod
    def parsed(cls, stored: dict[str, object]) -> Self:
        """Read what ``line`` wrote."""
        boxes, packed = stored["boxes"], stored["cells"]
        assert isinstance(boxes, dict)
        assert isinstance(packed, str)
        return cls(
            boxes={name: tuple(box) for name, box in boxes.items()},
            cells=zlib.decompress(base64.b85decode(packed)),
        )


def differences(before: Look, after: Look) -> list[str]:
    """What a person would notice, one line each."""
    found = [f"{name}: gone" for name in before.boxes.keys() - after.boxes.keys()]
    found += [f"{name}: new" for name in after.boxes.keys() - before.boxes.keys()]
    for name, box in before.boxes.items():
        now = after.boxes.get(name, box)
        if (moved := max(abs(one - other) for one, other in zip(box, now, strict=True))) > MOST_PX:
            found.append(f"{name}: {moved} px away, {box} -> {now}")
    return found + _of_colours(before.cells, after.cells)


def _of_colours(before: bytes, after: bytes) -> list[str]:
    mean, worst, place = distance(before, after)
    found = [f"colours: {mean:.1f} away on average"] if mean > MOST_MEAN else []
    if worst > MOST_CELL:
        row, column = divmod(place, COLUMNS)
        found.append(f"colours: {worst} away in row {row} of {ROWS}, column {column} of {COLUMNS}")
    return found


def distance(before: bytes, after: bytes) -> tuple[float, int, int]:
    """Mean difference, worst difference, and the cell that has it."""
    away = [abs(one - other) for one, other in zip(before, after, strict=True)]
    worst = max(away)
    return sum(away) / len(away), worst, away.index(worst) // 3


def load() -> dict[str, Look]:
    """The looks that are kept, by name."""
    return {name: Look.parsed(stored) for name, stored in json.loads(FILE.read_text("utf-8")).items()}


def store(looks: dict[str, Look]) -> None:
    """Keep these looks, one line each."""
    lines = ",\n".join(f"{json.dumps(name)}: {look.line()}" for name, look in sorted(looks.items()))
    FILE.write_text("{\n" + lines + "\n}\n", "utf-8")
