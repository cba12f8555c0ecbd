"""Folders that are no loose piles: a file more asks for a folder of its topic."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
MOST: Final = 15


@pytest.mark.parametrize("folder", ["tasks", "db", "review", "review/dashboard", "cli", "gateway"])
def test_a_folder_holds_at_most_fifteen_modules(folder: str) -> None:
    """Modules directly in the folder."""
    assert len(list((ROOT / folder).glob("*.py"))) <= MOST
