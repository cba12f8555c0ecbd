"""What a value should have been, from the messages of Pydantic."""

from __future__ import annotations

import re
from collections.abc import Sequence


def expectation(message: str) -> str:
    """The message without its subject, so that it reads after the word "expected"."""
    if message == "Field required":
        return "a value, the field is required"
    message = re.sub(r"^Value should (.+) items", r"Value should \1 characters", message)  # of a secret
    message = re.sub(r"^(Value error, (expected )?|Input should be |\w+ should have )", "", message)
    message = re.split(" after validation|, unable to ", message)[0]  # what came follows
    message = re.sub(r"^a valid dictionary( or instance of \w+)?$", "a JSON object", message)
    return re.sub(r"^\w+ should match pattern ", "a text of the pattern ", message)


def place_of(parts: Sequence[int | str]) -> str:
    """The dotted path of a field; an item that has a wrong key is named as one with a wrong value."""
    return ".".join(str(part) for part in parts if part != "[key]")
