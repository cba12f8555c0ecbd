"""The latency of a call: a distribution as a value, and one draw from it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Z95 = 1.6448536269514722
"""95th percentile of the standard normal distribution, to compute sigma from a p95."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Always the same number of seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Any number of seconds from ``low_s`` to ``high_s``, all equally likely."""

    low_s: float
    high_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal:
    """Half of the draws are below ``median_s``, 19 of 20 below ``p95_s``, as is typical of model latency."""

    median_s: float
    p95_s: float


Latency: TypeAlias = Fixed | Uniform | Lognormal
NO_LATENCY = Fixed(seconds=0.0)


def drawn_seconds(latency: Latency, rng: random.Random) -> float:
    """One draw, in seconds, never negative; ``Fixed`` draws nothing from ``rng``."""
    match latency:
        case Fixed():
            return latency.seconds
        case Uniform():
            return rng.uniform(latency.low_s, latency.high_s)
        case Lognormal():
            sigma = math.log(latency.p95_s / latency.median_s) / Z95
            return latency.median_s * math.exp(sigma * rng.gauss(0.0, 1.0))


def parse_latency(value: object) -> Latency:
    """The distribution in a JSON value; ValueError says what was expected.

    A number or ``{"fixed_s": s}``, ``{"low_s": a, "high_s": b}`` or ``{"median_s": m, "p95_s": p}``.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = {"fixed_s": value}
    if not isinstance(value, Mapping):
        raise ValueError(f"latency: expected a number of seconds or an object, got {value!r}")  # noqa: TRY004  # one error type for bad configuration
    numbers = {key: parse_seconds(key, number) for key, number in value.items()}
    match sorted(numbers):
        case ["fixed_s"]:
            return Fixed(seconds=numbers["fixed_s"])
        case ["high_s", "low_s"] if numbers["low_s"] <= numbers["high_s"]:
            return Uniform(low_s=numbers["low_s"], high_s=numbers["high_s"])
        case ["median_s", "p95_s"] if 0 < numbers["median_s"] <= numbers["p95_s"]:
            return Lognormal(median_s=numbers["median_s"], p95_s=numbers["p95_s"])
    raise ValueError(
        "latency: expected {fixed_s}, {low_s, high_s} with low_s <= high_s "
        f"or {{median_s, p95_s}} with 0 < median_s <= p95_s, got {dict(value)!r}"
    )


def parse_latency_option(option: str) -> Latency:
    """The distribution in a command-line word: ``0.2``, ``0.1..0.3`` or ``1/2.5`` (median/p95)."""
    try:
        if ".." in option:
            low, high = option.split("..", 1)
            return parse_latency({"low_s": float(low), "high_s": float(high)})
        if "/" in option:
            median, p95 = option.split("/", 1)
            return parse_latency({"median_s": float(median), "p95_s": float(p95)})
        return parse_latency(float(option))
    except ValueError as error:
        raise ValueError(f"expected SECONDS, LOW..HIGH or MEDIAN/P95, got {option!r} ({error})") from error


def latency_json(latency: Latency) -> dict[str, float]:
    """The same distribution as the JSON that ``parse_latency`` reads."""
    match latency:
        case Fixed():
            return {"fixed_s": latency.seconds}
        case Uniform():
            return {"low_s": latency.low_s, "high_s": latency.high_s}
        case Lognormal():
            return {"median_s": latency.median_s, "p95_s": latency.p95_s}


def parse_seconds(name: str, value: object) -> float:
    """A number of seconds from a JSON number or a word; ValueError outside 0 to 3600."""
    number = float(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 3600:
        raise ValueError(f"{name}: expected seconds from 0 to 3600, got {value!r}")
    return float(number)
