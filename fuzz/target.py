"""What one fuzz target is: a function of bytes that must not raise, and how to feed it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CORPUS: Final = Path(__file__).parent / "corpus"
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""NUL and half surrogate pairs, which Postgres cannot store."""


class Broken(AssertionError):
    """A property of a target does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser of untrusted input and its property.

    Attributes:
        name: of the target and of its folder in ``fuzz/corpus``.
        about: the property in one sentence.
        check: raises nothing while the property holds; a declared error of the reader is no failure.
        words: pieces of valid input, from which both fuzzers build their inputs.
        seeds: valid inputs to begin with.
        most_bytes: longest input.
        most_s: most CPU seconds for one input, about 20 times what the slowest known one takes.
    """

    name: str
    about: str
    check: Callable[[bytes], None]
    words: tuple[str, ...]
    seeds: tuple[bytes, ...]
    most_bytes: int = 4096
    most_s: float = 2.0

    @property
    def corpus(self) -> Path:
        """The folder of the stored inputs."""
        return CORPUS / self.name

    def run(self, data: bytes) -> None:
        """Check one input, within its time.

        Raises:
            Broken: the property does not hold, or the check needed too much CPU time.
            Exception: the reader raised another error than it declares.
        """
        started = time.thread_time()
        self.check(data[: self.most_bytes])
        spent = time.thread_time() - started
        if spent > self.most_s:
            raise Broken(f"{self.name}: expected at most {self.most_s:g} s of CPU, got {spent:.1f} s")


def require(holds: object, what: str, *values: object) -> None:
    """Raise ``Broken`` with the values unless the property holds."""
    if not holds:
        raise Broken(f"{what}: {', '.join(map(repr, values))}")


def require_storable(value: Any) -> None:
    """Refuse texts that Postgres cannot store, anywhere in a JSON value."""
    match value:
        case str():
            require(not UNSTORABLE.search(value), "not storable", value)
        case dict():
            for key, inner in value.items():
                require_storable(key)
                require_storable(inner)
        case list() | tuple():
            for inner in value:
                require_storable(inner)


def as_text(data: bytes) -> str:
    """Bytes as text that may hold half surrogate pairs, as JSON can bring them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
