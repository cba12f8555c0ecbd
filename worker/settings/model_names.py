"""The further language models of a deployment, as the environment has them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, StringConstraints
from pydantic_settings import NoDecode

from worker.assessment import DEFAULT_MODEL
from worker.json_variables import json_value

EXPECTED: Final = f"a JSON object, name -> model, none named {DEFAULT_MODEL}"


def _named(value: object) -> object:
    found = json_value(value, expected=EXPECTED)
    if DEFAULT_MODEL in found:
        raise ValueError(f"expected {EXPECTED}")
    return found


_Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
_Model = Annotated[str, StringConstraints(min_length=1)]
ModelNames = Annotated[dict[_Name, _Model], NoDecode, BeforeValidator(_named)]
"""Name -> model, written as a JSON object."""
