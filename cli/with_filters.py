"""Marks a command that has an option for each filter of the audit; ``cli.main`` adds the options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WithFilters:
    """A command whose ``context.obj`` is the ``Filters`` that its options ask for."""

    run: Callable[..., None]
