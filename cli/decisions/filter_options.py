"""The filters of the audit as options, the same for every command that shows decisions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from cli.output import fail
from db.audit.filters import Filters
from review.lists.filter_fields import FIELDS
from review.lists.filter_parsers import FilterField, ParseContext
from review.lists.filters import parse_query


class FilteredCommand(TyperCommand):
    """A command with an option for each filter; ``context.obj`` is the ``Filters`` that they ask for.

    A filter is left out where the command has an option of that name: two would be one to the parser.

    For example::

        @app.command(cls=FilteredCommand)
        def count(context: typer.Context) -> None:
            filters: Filters = context.obj
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        own = {each.name for each in self.params}
        filters = [each for each in OPTIONS if each.name not in own]
        self.filters = tuple(each.name for each in filters)
        self.params += filters

    def invoke(self, ctx: Any) -> Any:
        """Run the command with the filters in place of the options."""
        ctx.obj = filters_of_options({each: ctx.params.pop(each) for each in self.filters})
        return super().invoke(ctx)


def filters_of_options(given: Mapping[str, Any]) -> Filters:
    """The filters that options ask for, read as the pages read a URL."""
    pairs = [(name, text) for name, value in given.items() for text in _texts(value)]
    if empty := next((name for name, text in pairs if not text.strip()), None):
        raise fail(f"{_option_name(empty)}: expected a value, got an empty one")
    query = parse_query(pairs, ParseContext(now=datetime.now(UTC)), accounts=None)
    if query.problems:
        lines = [
            f"{_option_name(each.field)}: expected {each.expected}, got {each.got!r}"
            for each in query.problems
        ]
        raise fail("\n".join(lines))
    return query.filters


def _texts(value: str | bool | list[str] | None) -> Iterator[str]:
    match value:
        case None:
            return
        case bool():
            yield "yes" if value else "no"
        case str():
            yield value
        case list() | tuple():
            yield from value


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(field: FilterField) -> tuple[str, Any, Any]:
    """A parameter that Typer makes an option from."""
    name, values = _option_name(field.name), field.choices or field.suggestions
    if field.opposite:
        info = typer.Option(f"{name}/--{field.opposite}", help=field.about, rich_help_panel=PANEL)
        return field.name, Annotated[bool | None, info], None
    info = typer.Option(
        name,
        *SHORT.get(name, ()),
        help=field.about,
        metavar=f"<{'|'.join(field.choices)}>" if field.choices else None,
        rich_help_panel=PANEL,
        autocompletion=lambda incomplete: [each for each in values if each.startswith(incomplete)],
    )
    return field.name, Annotated[list[str] | None if field.several else str | None, info], None


def _options() -> list[Any]:
    """The options, by a command of their own: Typer makes them from the parameters of a callable."""
    template = typer.Typer(add_completion=False)
    template.command()(dataclasses.make_dataclass("FilterOptions", map(_option, FIELDS)))
    return typer.main.get_command(template).params


PANEL: Final = "Filters"
SHORT: Final = {"--account": ("-a",)}
"""Options with one letter, which every command gives them."""
OPTIONS: Final = _options()
