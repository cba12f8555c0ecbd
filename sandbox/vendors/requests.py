"""What is asked of requests: tests of a chat body that several vendors share."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from sandbox.vendors.form import VendorDocument

NINE = re.compile(r"[a-zA-Z0-9]{9}")
Test = Callable[[VendorDocument], bool]


def has(*names: str) -> Test:
    """Any of these fields."""
    return lambda body: any(name in body for name in names)


def over(most_chars: int) -> Test:
    """More characters in all messages than a context holds."""
    return lambda body: sum(len(str(each.get("content") or "")) for each in body["messages"]) > most_chars


def has_system(body: VendorDocument) -> bool:
    """A system message."""
    return any(each["role"] == "system" for each in body["messages"])


def does_not_alternate(body: VendorDocument) -> bool:
    """User and assistant are not strictly in turn after an optional system message, the first one the user."""
    roles = [each["role"] for each in body["messages"] if not _is_of_tools(each)]
    turns = [role for role in roles if role not in {"system", "tool"}]
    return turns[:1] != ["user"] or any(before == after for before, after in pairwise(turns))


def has_undeclared_tools(body: VendorDocument) -> bool:
    """Results or calls of tools without ``tools``."""
    return "tools" not in body and any(_is_of_tools(each) for each in body["messages"])


def has_tools(body: VendorDocument) -> bool:
    """Tools, their calls or their results."""
    return "tools" in body or any(_is_of_tools(each) for each in body["messages"])


def has_long_tool_ids(body: VendorDocument) -> bool:
    """Ids of calls that are not nine letters and digits."""
    calls = [call for each in body["messages"] for call in each.get("tool_calls") or ()]
    return any(not NINE.fullmatch(str(call.get("id"))) for call in calls)


def has_empty_content(body: VendorDocument) -> bool:
    """A message whose text is empty or blank."""
    return any(
        isinstance(each.get("content"), str) and not each["content"].strip() for each in body["messages"]
    )


def lacks_reasoning(body: VendorDocument) -> bool:
    """A line of the model without what it thought."""
    return any(each["role"] == "assistant" and not each.get("reasoning_content") for each in body["messages"])


def lacks_signatures(body: VendorDocument) -> bool:
    """A call of a tool without the model's signature."""
    calls = (call for each in body["messages"] for call in each.get("tool_calls") or ())
    return any("extra_content" not in call for call in calls)


def has_many_inputs(most: int) -> Test:
    """More texts in one embedding request than a server takes."""
    return lambda body: isinstance(body.get("input"), list) and len(body["input"]) > most


def has_list_of_inputs(body: VendorDocument) -> bool:
    """Texts to embed as a list, also of one."""
    return isinstance(body.get("input"), list)


def _is_of_tools(each: VendorDocument) -> bool:
    return each["role"] == "tool" or bool(each.get("tool_calls"))
