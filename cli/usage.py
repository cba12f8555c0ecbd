"""What is wrong with a command line, as one line."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError


def usage_problem(error: typer.TyperException) -> str:
    """Parameter, expectation and the value that came, then where the help is; empty after a printed help."""
    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    text = error.format_message()
    if isinstance(error.__cause__, ValidationError):
        text = _refused(parameter, error.__cause__)
    elif parameter is not None and not error.message:
        meaning = _choices(parameter) or str(parameter.help).replace("`", "")
        text = f"{_name(parameter)} is missing: {meaning}"
    hint = f" ({context.command_path} --help says more)" if text and context else ""
    return text.removesuffix(".") + hint


def _refused(parameter: Any, error: ValidationError) -> str:
    problem = error.errors()[0]
    expected = problem["msg"].removeprefix("Input should be ").partition(",")[0]
    return f"{_name(parameter)}: expected {_choices(parameter) or expected}, got {problem['input']!r}"


def _name(parameter: Any) -> str:
    return str(parameter.get_error_hint()).replace("'", "").replace(" / ", "/")


def _choices(parameter: Any) -> str:
    choices = parameter.type_descriptor.choices
    return f"one of {', '.join(choices)}" if choices else ""
