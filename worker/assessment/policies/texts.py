"""The texts and word lists of the policies, from ``texts.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@cache
def _loaded() -> dict[str, Any]:
    path = files("worker.assessment.policies").joinpath("texts.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def texts(name: str) -> Mapping[str, Any]:
    """The texts of a name by language, or by category."""
    return MappingProxyType(_loaded()[name])


def words(name: str) -> tuple[str, ...]:
    """The word list of a name, in the published order."""
    return tuple(_loaded()[name])
