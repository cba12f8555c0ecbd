"""The prices of models: those that the environment declares, and the list prices of common models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode

from worker.json_variables import json_value
from worker.model import ModelPrice, PriceTable
from worker.settings.environment import Environment

EXPECTED: Final = (
    'a JSON array of objects such as {"model": "openai/gpt-4.1-mini", "since": "2026-01-01", "prompt": 0.4,'
    ' "completion": 1.6}'
)


class DeclaredPrice(BaseModel):
    """One entry of HUSHGATE_PRICES."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1, max_length=200)]
    since: date
    prompt: Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
    completion: Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)] = Decimal(0)


def _array(value: object) -> object:
    found = json_value(value, expected=EXPECTED, kind=list)
    return [
        {name: str(part) if isinstance(part, float) else part for name, part in each.items()}
        if isinstance(each, dict)
        else each
        for each in found
    ]


def _each_once(prices: list[DeclaredPrice]) -> list[DeclaredPrice]:
    seen: set[tuple[str, date]] = set()
    for each in prices:
        if (each.model, each.since) in seen:
            raise ValueError(f"expected each model and day once, {each.model} has two from {each.since}")
        seen.add((each.model, each.since))
    return prices


class PriceSettings(Environment):
    """What models cost."""

    prices: Annotated[list[DeclaredPrice], NoDecode, BeforeValidator(_array), AfterValidator(_each_once)] = (
        Field(default=[])
    )
    """Prices in US dollars for a million tokens as a JSON array: model, since (a day), prompt, completion;
    they replace the list prices of common models. The cost of other models is unknown; see docs/limits.md."""


def price_table(settings: PriceSettings) -> PriceTable:
    """The declared prices, and list prices of models without a declared price."""
    declared = [ModelPrice(**each.model_dump()) for each in settings.prices]
    names = {each.model for each in declared}
    return PriceTable((*declared, *(each for each in list_prices() if each.model not in names)))


@cache
def list_prices() -> tuple[ModelPrice, ...]:
    """The prices in ``list_prices.json``: what vendors publish, from the day on which they were read."""
    return tuple(_read(files("worker.settings").joinpath("list_prices.json").read_text(encoding="utf-8")))


def _read(text: str) -> Iterator[ModelPrice]:
    for vendor in json.loads(text, parse_float=Decimal)["vendors"]:
        for day, models in vendor["from"].items():
            for model, (prompt, completion) in models.items():
                yield ModelPrice(
                    model=model,
                    since=date.fromisoformat(day),
                    prompt=Decimal(prompt),
                    completion=Decimal(completion),
                )
