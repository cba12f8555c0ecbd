"""Where pg_dump comes from: the extra ``local``, the PATH, or a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from db.backup import dump
from worker.errors import ConfigurationError

URL = "postgresql://hushgate@127.0.0.1:1/none"


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A production image: no embedded servers are installed."""
    monkeypatch.setattr(dump, "find_spec", lambda _: None)


@pytest.mark.usefixtures("without_extra")
def test_without_the_extra_the_program_of_the_path_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own message is the error."""
    program = tmp_path / "pg_dump"
    program.write_text("#!/bin/sh\necho 'from the path' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(ConfigurationError, match="from the path"):
        dump.dump_database(URL, tmp_path / "tables")


@pytest.mark.usefixtures("without_extra")
def test_without_any_program_the_error_names_the_ways(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The PATH, the option and the extra."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        ConfigurationError, match=r"pg_dump: expected on the PATH.*--programs.*hushgate\[local\]"
    ):
        dump.dump_database(URL, tmp_path / "tables")
