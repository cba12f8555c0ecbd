"""The columns and the order of the list of decisions, as a person keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from db.rows import Row


class ListColumn(StrEnum):
    """A column that a person may leave out, in the order of the page; stored, never renamed."""

    ACCOUNT = "account"
    AUTHOR = "author"
    REPLY = "reply"
    CONFIDENCE = "confidence"
    REVIEW = "review"


class ListOrder(StrEnum):
    """Which decisions come first: the orders that every index of the audit serves, and no other."""

    NEWEST = "newest"
    OLDEST = "oldest"


USUAL: Final = (ListColumn.ACCOUNT, ListColumn.REPLY, ListColumn.CONFIDENCE, ListColumn.REVIEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLayout:
    """How a person reads the list of decisions."""

    columns: tuple[ListColumn, ...] = USUAL
    order: ListOrder = ListOrder.NEWEST

    @property
    def oldest_first(self) -> bool:
        """Whether the oldest decisions come first."""
        return self.order is ListOrder.OLDEST


def layout_from_row(row: Row) -> ListLayout:
    """The layout in a row of ``people``; columns and an order of a later release are left out."""
    names = row["list_columns"]
    columns = USUAL if names is None else tuple(each for each in ListColumn if each.value in names)
    return ListLayout(
        columns=columns,
        order=next((each for each in ListOrder if each == row["list_order"]), ListOrder.NEWEST),
    )
