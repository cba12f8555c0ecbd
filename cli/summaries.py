"""What the commands do, read from the text of their modules: a list of commands imports none of them."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path


def help_of(place: str) -> str:
    """The help of the command or group at ``place`` (``module:attribute``).

    Raises:
        LookupError: it is neither a function nor made with a literal ``help``.
    """
    module, _, name = place.partition(":")
    found = find_spec(module)
    if found is None or found.origin is None:
        raise LookupError(place)
    for node in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() if node.name == name:
                return ast.get_docstring(node) or ""
            case ast.ImportFrom(module=str(origin)) if name in _names(node):
                return help_of(f"{origin}:{name}")
            case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
                if target == name:
                    return _text(module, node.value)
    raise LookupError(place)


def _text(module: str, value: ast.expr | None) -> str:
    if isinstance(value, ast.Call):  # of typer.Typer
        value = next((each.value for each in value.keywords if each.arg == "help"), None)
    match value:
        case ast.Name():
            return help_of(f"{module}:{value.id}")
        case ast.Constant(value=str(text)):
            return text
    raise LookupError(module)


def _names(node: ast.ImportFrom) -> set[str]:
    return {each.name for each in node.names if each.asname is None}
