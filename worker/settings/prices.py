"""The prices of models, as the environment declares them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
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
        Field(
            default=[],
            alias="HUSHGATE_PRICES",
            description="Prices in US dollars for a million tokens as a JSON array: model, since (a day),"
            " prompt, completion. The cost of other models is unknown; see docs/limits.md.",
        )
    )


def price_table(settings: PriceSettings) -> PriceTable:
    """The declared prices."""
    return PriceTable(ModelPrice(**each.model_dump()) for each in settings.prices)
