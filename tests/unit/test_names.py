"""Public classes and type aliases have unique names in the whole product."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from features.feature import FEATURES

ROOT = Path(__file__).parents[2]
PACKAGES = ("features", "worker", "tasks", "db", "review", "gateway", "cli", "sandbox", *FEATURES)


def type_names(path: Path) -> Iterator[str]:
    """The public classes and type aliases that a module defines at its top level."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp()):
                if name[0].isupper() and not name.isupper():
                    yield name


def test_a_class_or_type_alias_has_one_definition() -> None:
    """The name of a public class or type alias occurs in one module of the product."""
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in type_names(path):
                if not name.startswith("_"):
                    modules[name].append(path.relative_to(ROOT).as_posix())

    assert not {name: found for name, found in modules.items() if len(found) > 1}
