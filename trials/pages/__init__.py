"""The pages "Learn" of an account: its candidates, and every way to try them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
