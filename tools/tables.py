"""Write the tables of documents that are made from the code.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``. ``python -m tools.tables``,
part of ``make schema``, writes all of them; a test fails while one is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from enum import StrEnum
from pathlib import Path
from typing import Final

from typer.main import get_command

from cli.exit_codes import MEANINGS
from cli.main import command_line
from db.people.records import Role
from review.access import RIGHTS, Right
from worker.assessment.policies.designs import DESIGNS

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
RECORDS: Final = DOCS / "decisions"
SHARED: Final = {"version", "enabled", "test_mode", "gate"}
"""Options of every policy."""
TABLE: Final = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _commands() -> str:
    """Every command with the first sentence of its help."""
    commands: Mapping[str, object] = getattr(get_command(command_line()), "commands", {})
    helps = {name: str(getattr(command, "help", "")) for name, command in commands.items()}
    first = {
        name: re.split(r"(?<=[.:;]) ", " ".join(text.split()))[0].rstrip(".:;")
        for name, text in helps.items()
    }
    return _rows(["command", "what it does"], [[f"`{name}`", text] for name, text in first.items()])


def _exit_codes() -> str:
    return _rows(["code", "meaning"], [[str(code.value), meaning] for code, meaning in MEANINGS.items()])


def _rights() -> str:
    """Roles of the review pages with their rights."""
    rights = [right for right in Right if right is not Right.SIGNED_IN]
    return _rows(
        ["role", *(right.value.replace("_", " ") for right in rights)],
        [
            [role.value.replace("_", " "), *("yes" if right in RIGHTS[role] else "" for right in rights)]
            for role in Role
        ],
    )


def _policies() -> str:
    """Every option of each confidence policy, under its published name where it has one, with its default."""
    rows = []
    for policy, design in sorted(DESIGNS.items()):
        names = {
            name: published for published, name in design.published_names.items() if not published.isupper()
        }
        options = [
            f"`{names.get(each.name, each.name)}`{_default(each)}"
            for each in fields(design.settings)
            if each.name not in SHARED
        ]
        rows.append([f"`{policy}`", ", ".join(options)])
    return _rows(["policy", "options and defaults"], rows)


def _default(option: Field[object]) -> str:
    """Its default where a number, a switch or a word says it."""
    match option.default:
        case bool() as default:
            return f" {str(default).lower()}"
        case int() | float() | StrEnum() as default:
            return f" {default}"
    return ""


def _records() -> str:
    """Number and topic of each decision record."""
    titles = {path: path.read_text(encoding="utf-8").partition("\n")[0] for path in RECORDS.glob("[0-9]*.md")}
    return "".join(f"- [{titles[path].removeprefix('# ')}]({path.name})\n" for path in sorted(titles))


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "commands": _commands,
    "exit codes": _exit_codes,
    "rights": _rights,
    "policies": _policies,
    "decision records": _records,
}


def written(text: str) -> str:
    """A document with its tables as the code makes them. Raises KeyError for an unknown table."""
    return TABLE.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def stale() -> Iterator[Path]:
    """The documents with a table that is out of date."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if written(text) != text:
            yield path


if __name__ == "__main__":
    for each in stale():
        each.write_text(written(each.read_text(encoding="utf-8")), encoding="utf-8")
