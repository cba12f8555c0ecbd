"""Commands of extras and tools: where their modules are not installed, the command says what to install."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand

from worker import extras
from worker.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class WithFilters:
    """A command whose ``context.obj`` is the ``Filters`` that its options ask for."""

    run: Callable[..., None]


PASSTHROUGH: Final = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_command(
    line: typer.Typer,
    name: str,
    place: str,
    *,
    context_settings: dict[Any, Any] | None = None,
) -> None:
    """Add the command or group at ``place`` (``module:attribute``) to a command line or group.

    ``name`` is whole, such as ``trials replay``: messages name the command as people write it.
    """
    own = name.rpartition(" ")[2]
    module, _, attribute = place.partition(":")
    command: Any
    try:
        command = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        missing = extras.missing_extra(error, needed_by=f"hushgate {name}")
        if missing is None:
            raise
        command, context_settings = _refusing(missing), PASSTHROUGH
    if isinstance(command, typer.Typer):
        line.add_typer(command, name=own)
    elif isinstance(command, WithFilters):
        kind: type[TyperCommand] = import_module("cli.decisions.filter_options").FilteredCommand
        line.command(own, cls=kind)(command.run)
    else:
        line.command(own, context_settings=context_settings)(command)


def _refusing(missing: ConfigurationError) -> Any:
    def refuse(_context: typer.Context) -> None:
        raise missing

    refuse.__doc__ = "Not installed."
    return refuse
