"""Files and programs of commands: what they write, where pg_dump comes from, what the demo makes of keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.output_file import output_file, private_file
from cli.stack.environment import completed
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


def test_a_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """An export holds what people wrote."""
    with output_file(tmp_path / "export.csv", force=False) as file:
        file.write("text")

    assert (tmp_path / "export.csv").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "export.csv").read_text() == "text"


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write to the folder cannot make a command overwrite another file."""
    victim = tmp_path / "victim"
    victim.write_text("unchanged")
    (tmp_path / ".export.csv.part").symlink_to(victim)
    with output_file(tmp_path / "export.csv", force=False) as file:
        file.write("text")

    assert victim.read_text() == "unchanged"
    assert not (tmp_path / "export.csv").is_symlink()
    with pytest.raises(FileExistsError):
        private_file(tmp_path / ".export.csv.part")


def test_openais_key_alone_serves_the_model_too() -> None:
    """One key is enough for moderation and model."""
    found = completed({"OPENAI_API_KEY": "k"})

    assert found["OPENROUTER_API_KEY"] == "k"
    assert found["OPENROUTER_BASE_URL"] == "https://api.openai.com/v1"
    assert found["HUSHGATE_LLM_MODEL"] == "gpt-4.1-mini"


def test_openrouters_key_alone_switches_moderation_off() -> None:
    """There is no moderation API behind it."""
    found = completed({"OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": ""})

    assert found == {"OPENROUTER_API_KEY": "k", "OPENAI_MODERATION_ENABLED": "false"}


def test_two_keys_change_nothing() -> None:
    """Two keys are a complete configuration."""
    both = {"OPENROUTER_API_KEY": "a", "OPENAI_API_KEY": "b"}

    assert completed(both) == both
