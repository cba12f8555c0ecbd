"""Names of days, months and languages, from ``cldr_names.json``, which ``tools.cldr_names`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import cast


def date_names() -> Mapping[str, str]:
    """Names in many languages -> ``day0`` (Monday) to ``day6``, ``month1`` to ``month12``."""
    return cast("Mapping[str, str]", _names()["dates"])


def short_day_names() -> Mapping[str, str]:
    """Abbreviations in many languages -> ``day0`` (Monday) to ``day6``; each means one day in all of them."""
    return cast("Mapping[str, str]", _names()["short_days"])


def language_names() -> Sequence[str]:
    """Names of languages in the languages that write them with a capital letter."""
    return cast("Sequence[str]", _names()["languages"])


@cache
def _names() -> dict[str, object]:
    text = files("worker.assessment.reading").joinpath("cldr_names.json").read_text(encoding="utf-8")
    return cast("dict[str, object]", json.loads(text))
