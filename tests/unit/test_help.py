"""Help texts and documents name only commands and options that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.exit_codes import MEANINGS, ExitCode
from cli.main import command_line, command_list

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").glob("*.md")),
)
CALL = re.compile(r"\bhushgate((?: [a-z][a-z-]*)+)(?P<rest>[^\n`|#;()]*)")
QUOTED = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
PASSTHROUGH = frozenset({"worker", "beat"})


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from tree(child, (*path, name))


COMMANDS = dict(tree(get_command(command_line())))


def texts(command: Any) -> str:
    """All that a command's help says, but for names of options."""
    helps = [getattr(each, "help", None) for each in command.params]
    return "\n".join(text for text in (command.help, command.epilog, *helps) if text)


def unknown(text: str) -> list[str]:
    """Calls of commands or options that do not exist; `hushgate VERB` where VERB is no command."""
    wrong = []
    for call in CALL.finditer(text):
        words = call[1].split()
        path: tuple[str, ...] = ()
        for word in words:
            if (*path, word) not in COMMANDS:
                break
            path = (*path, word)
        if not path or (hasattr(COMMANDS[path], "commands") and len(words) > len(path)):
            wrong.append(call[0])
        elif path[0] not in PASSTHROUGH:
            known = {name for each in COMMANDS[path].params for name in (*each.opts, *each.secondary_opts)}
            asked = set(OPTION.findall(call["rest"].split("|")[0])) - {"--help"}
            wrong += [f"{' '.join(path)} {option}" for option in sorted(asked - known)]
    return wrong


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "hushgate")
def test_every_command_in_a_help_text_exists(path: tuple[str, ...]) -> None:
    """With its options."""
    assert unknown(texts(COMMANDS[path])) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_document_exists(document: Path) -> None:
    """In code only: prose may say what hushgate is."""
    text = document.read_text()
    code = "\n".join([*re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL), *QUOTED.findall(text)])

    assert unknown(code) == []


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "hushgate")
def test_every_command_and_option_is_explained(path: tuple[str, ...]) -> None:
    """No parameter is without a help text."""
    command = COMMANDS[path]

    assert command.help
    assert [
        each.name for each in command.params if not getattr(each, "help", "") and each.name != "help"
    ] == []


@pytest.mark.parametrize("option", ["--account -a", "--output -o"])
def test_an_option_has_the_same_letter_in_every_command(option: str) -> None:
    """What one command takes, all take."""
    name, letter = option.split()
    given = {
        path: each.opts for path, command in COMMANDS.items() for each in command.params if name in each.opts
    }

    assert len(given) > 3
    assert [path for path, names in given.items() if letter not in names] == []


@pytest.mark.slow
def test_a_command_is_started_without_the_modules_of_the_others() -> None:
    """A worker's start, and each line of a shell script, would pay seconds of CPU for them."""
    script = "import sys, cli.main as main; main.command_line(['worker']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "cli.deployment.serve" in done.stdout.split()
    assert not {"cli.demo.run", "review.app", "openai", "authlib"} & set(done.stdout.split())


def test_the_list_of_commands_says_what_their_modules_say() -> None:
    """It is read without importing them."""
    listed, known = dict(tree(get_command(command_list()))), COMMANDS

    assert set(listed) == {path for path in known if len(path) <= 1}
    for path, each in listed.items():
        assert each.get_short_help_str() == known[path].get_short_help_str()


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code"), [([], 2), (["--help"], 0), (["--version"], 0), (["no-such"], 2)])
def test_a_list_of_commands_loads_none_of_them(words: list[str], code: int) -> None:
    """Loading all of them takes seconds."""
    script = "import atexit, sys, cli.main; atexit.register(lambda: print(*sys.modules)); cli.main.main()"
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)

    assert done.returncode == code
    assert not {"cli.demo.run", "cli.deployment.serve", "review.app"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_narrow_help_has_whole_names_of_options() -> None:
    """A table of forty columns cuts them."""
    words = [sys.executable, "-m", "cli", "up", "--help"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "40"}
    )

    assert "--no-demo-accounts" in done.stdout
    assert "…" not in done.stdout


def test_the_exit_codes_stand_in_the_help() -> None:
    """Each code has one meaning."""
    shown = COMMANDS[()].epilog

    assert set(MEANINGS) == set(ExitCode)
    assert [code for code, meaning in MEANINGS.items() if f"- {code.value}: {meaning}" not in shown] == []


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "hushgate")
def test_each_example_is_a_line_of_its_own(path: tuple[str, ...]) -> None:
    """The help joins the lines of a paragraph, and two joined commands are none."""
    assert re.findall(r"^ *hushgate .*\n *hushgate ", COMMANDS[path].help or "", re.MULTILINE) == []


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "hushgate")
def test_no_command_has_two_options_of_one_name(path: tuple[str, ...]) -> None:
    """The parser takes the last of them, so the other one would never be given."""
    params = COMMANDS[path].params
    names = [name for each in params for name in (*each.opts, *each.secondary_opts)]
    fields = [each.name for each in params]

    assert sorted(names) == sorted(set(names))
    assert sorted(fields) == sorted(set(fields))
