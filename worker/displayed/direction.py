"""Letters whose direction is overridden, in the order in which people see them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from worker.displayed.edits import Edit

OVERRIDE: Final = re.compile("[\u202d\u202e]")
RIGHT_TO_LEFT: Final = "\u202e"
DIRECTION_CONTROL: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""With these a text can be displayed in another order than it has."""
OPENING: Final = frozenset("\u202a\u202b\u202d\u202e")
CLOSING: Final = "\u202c"
MARKS: Final = OPENING | {CLOSING}
ENDS: Final = frozenset("\n\r\u2029\x85")
"""An override ends with its paragraph."""
CLUSTER: Final = re.compile(
    "(?:.(?:[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
    "|\u200d.)*)",
    re.DOTALL,
)
MIRRORED: Final = str.maketrans("()[]{}<>", ")(][}{><")


def direction_edits(text: str) -> Sequence[Edit]:
    """The overridden parts of a text, reversed where people read them in the other direction."""
    edits, at = [], 0
    while (found := OVERRIDE.search(text, at)) is not None:
        end, is_closed = _end(text, found.end())
        edits.append(_shown(text, found.start(), end, end + is_closed))
        at = end + is_closed
    return edits


def _end(text: str, start: int) -> tuple[int, bool]:
    """Where an override that begins here ends, and whether a sign ends it."""
    depth = 1
    for at in range(start, len(text)):
        sign = text[at]
        if sign in ENDS:
            return at, False
        depth += (sign in OPENING) - (sign == CLOSING)
        if depth == 0:
            return at, True
    return len(text), False


def _shown(text: str, start: int, end: int, stop: int) -> Edit:
    """One override. Nested ones are read as part of it: their letters keep one order."""
    clusters = [
        (found[0], found.start()) for found in CLUSTER.finditer(text, start, end) if found[0] not in MARKS
    ]
    if _is_reversed(text[start:end], to_left=text[start] == RIGHT_TO_LEFT):
        clusters = [(cluster.translate(MIRRORED), at) for cluster, at in reversed(clusters)]
    return Edit(
        start=start,
        end=stop,
        text="".join(cluster for cluster, _ in clusters),
        places=[at + offset for cluster, at in clusters for offset in range(len(cluster))],
    )


def _is_reversed(part: str, *, to_left: bool) -> bool:
    """Whether most letters are of scripts that run against the override."""
    kinds = [unicodedata.bidirectional(char) for char in part]
    leftward = sum(kind in {"R", "AL"} for kind in kinds)
    rightward = kinds.count("L")
    return leftward <= rightward if to_left else leftward > rightward
