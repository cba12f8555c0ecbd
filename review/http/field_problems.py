"""What is wrong with one field of a request's body."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """A field of the body that cannot be used; ``item`` is its event in a batch, from 0, else null.

    ``field`` is a dotted path, such as ``flagged_keywords.3``; ``data`` for the body as a whole.
    """

    field: str
    expected: str
    got: str
    item: int | None = None

    def __str__(self) -> str:
        where = "" if self.item is None else f"{self.item}."
        return f"{where}{self.field}: expected {self.expected}, got {self.got}"
