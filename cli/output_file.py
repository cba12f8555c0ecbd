"""Files of commands; written ones are for their owner, overwritten with --force alone, never incomplete."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Final, TextIO, TypeAlias

import typer

from cli.exit_codes import ExitCode
from cli.output import fail

STANDARD: Final = "-"
"""Standard input or output instead of a file."""
PRIVATE: Final = 0o600
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]


@contextmanager
def input_file(path: Path) -> Iterator[BinaryIO]:
    """The open file; ``-`` is standard input.

    Raises:
        typer.Exit: it cannot be opened.
    """
    if str(path) == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        opened = path.open("rb")
    except OSError as error:
        raise fail(f"{path}: {error.strerror}") from error
    with opened:
        yield opened


@contextmanager
def output_file(path: Path, force: bool) -> Iterator[TextIO]:  # as Typer read it
    """The open file; ``-`` is standard output. A regular file gets its name when it is complete.

    Raises:
        typer.Exit: the file exists and ``force`` is False, or it cannot be written.
    """
    if str(path) == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
        return
    if _is_device(path):
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    if path.is_dir():
        raise fail(f"{path}: Is a directory", code=ExitCode.USAGE)
    refuse_existing(path, force)
    target = path.resolve()
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with private_file(part) as file:
            yield file
        refuse_existing(path, force)
        part.replace(target)
    except ConnectionError:
        raise
    except OSError as error:
        raise fail(f"{path}: {error.strerror}", code=ExitCode.USAGE) from error
    finally:
        part.unlink(missing_ok=True)


def private_file(path: Path) -> TextIO:
    """A new file that only its owner may read.

    Raises:
        FileExistsError: there is one, or a link, of this name.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


@contextmanager
def private_files() -> Iterator[None]:
    """Files that are made inside are readable by their owner alone, also those of child processes."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def refuse_existing(path: Path, force: bool) -> None:  # as Typer read it
    """Refuse a file that exists, before the work begins.

    Raises:
        typer.Exit: the file exists and ``force`` is False.
    """
    if path.is_file() and not force:
        raise fail(f"{path}: the file exists; --force overwrites it", code=ExitCode.USAGE)


def _is_device(path: Path) -> bool:
    """True for a pipe or a device such as /dev/null."""
    return path.exists() and not path.is_file() and not path.is_dir()
