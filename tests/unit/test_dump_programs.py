"""Files and programs of commands: what they write, where pg_dump comes from, what the demo makes of keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.output_file import output_file, private_file
from cli.stack.environment import (
    PREFIXES,
    completed,
    exports,
    forget_sandbox,
    inherited_keys,
    names_models,
    with_sandbox,
)
from db.backup import dump
from worker.errors import ConfigurationError
from worker.settings import SECRETS, Settings

URL = "postgresql://hushgate@127.0.0.1:1/none"
MODEL_SERVERS = {"DATABASE_URL": URL, "REDIS_URL": "redis://h"}


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
    """A person with write access to the folder cannot make a command overwrite another file."""
    victim = tmp_path / "victim"
    victim.write_text("unchanged")
    (tmp_path / ".export.csv.part").symlink_to(victim)
    with output_file(tmp_path / "export.csv", force=False) as file:
        file.write("text")

    assert victim.read_text() == "unchanged"
    assert not (tmp_path / "export.csv").is_symlink()
    with pytest.raises(FileExistsError):
        private_file(tmp_path / ".export.csv.part")


@pytest.mark.parametrize(
    ("given", "moderated_by"),
    [
        ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1"),
        (
            {"HUSHGATE_MODEL_URL": "https://api.openai.com/v1", "HUSHGATE_MODEL_KEY": "k"},
            "https://api.openai.com/v1",
        ),
        ({"OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": ""}, None),
        ({"HUSHGATE_MODEL_URL": "http://127.0.0.1:11434/v1"}, None),
        ({"HUSHGATE_MODEL_URL": "http://h/v1", "HUSHGATE_MODERATION_URL": "http://m/v1"}, "http://m/v1"),
        ({"OPENROUTER_API_KEY": "a", "OPENAI_API_KEY": "b"}, "https://api.openai.com/v1"),
    ],
)
def test_a_key_or_an_address_is_a_complete_configuration(
    given: dict[str, str], moderated_by: str | None
) -> None:
    """Moderation is off where neither the caller nor a known vendor has a moderation API."""
    moderation = Settings.model_validate(MODEL_SERVERS | completed(given)).servers.moderation

    assert names_models(given)
    assert (moderation.url if moderation else None) == moderated_by


def test_a_key_in_a_file_names_a_server() -> None:
    """The sandbox answers only where the caller names no server in any form."""
    assert names_models({"HUSHGATE_MODEL_KEY_FILE": "/run/secrets/model"})
    assert not names_models({"DATABASE_URL": "postgresql://h/d"})


def test_secrets_of_the_caller_are_named_and_never_printed() -> None:
    """Also those of the review pages, the logins and the log; a client's old token is not passed on."""
    secret = sorted(name for name in SECRETS if name.startswith(PREFIXES))
    outside = dict.fromkeys([*secret, "HUSHGATE_TOKEN"], "zqxsecret")
    servers = {"DATABASE_URL": "d", "REDIS_URL": "r", "HUSHGATE_REVIEW_URL": "u"}

    assert exports(outside | servers, outside) == servers
    assert inherited_keys(outside | servers, outside) == tuple(secret)


def test_a_start_in_a_shell_with_the_exports_of_a_sandbox_has_its_own() -> None:
    """The printed sandbox ended with its start; a model of the caller is kept."""
    pasted = with_sandbox({}, "http://127.0.0.1:1/v1")
    own = {"HUSHGATE_MODEL": "sandbox", "HUSHGATE_MODEL_URL": "http://m/v1", "HUSHGATE_MODEL_KEY": "sk"}
    kept = dict(own)
    forget_sandbox(pasted)
    forget_sandbox(kept)

    assert not names_models(pasted)
    assert kept == own
