"""Each secret can be in a file that its variable names."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.errors import ConfigurationError
from worker.settings import KNOWN_FIELDS, SECRETS, Settings, load
from worker.settings.secret_files import SUFFIX, secrets_from_files

PLAIN = {
    "DATABASE_URL": "postgresql://u:hunter2@db:5432/hushgate",
    "REDIS_URL": "redis://:hunter3@cache:6379/0",
    "OPENAI_API_KEY": "sk-hunter4",
    "OPENROUTER_API_KEY": "sk-hunter5",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no .env file."""
    monkeypatch.chdir(tmp_path)
    for field in KNOWN_FIELDS.values():
        monkeypatch.delenv(str(field.alias), raising=False)


def in_files(folder: Path, values: dict[str, str]) -> dict[str, str]:
    """The variables that name a file for each value."""
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")
    return {f"{name}{SUFFIX}": str(folder / name) for name in values}


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_every_secret_can_be_in_a_file(name: str, tmp_path: Path) -> None:
    """Total over the declared settings; the newline at the end does not belong to it."""
    value = '{"local": "sk-hunter6"}' if name.endswith("_KEYS") else "hunter6"
    found = secrets_from_files(KNOWN_FIELDS, in_files(tmp_path, {name: value}))

    assert found == {name: {"local": "sk-hunter6"} if name.endswith("_KEYS") else "hunter6"}


def test_files_are_read_from_the_environment_and_from_dotenv(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As each command reads its settings; the result is that of plain variables."""
    named = in_files(tmp_path, PLAIN)
    expected = Settings.model_validate(PLAIN)
    assert load(Settings, named) == expected
    Path(".env").write_text("\n".join(f"{name}={path}" for name, path in named.items()))
    assert load(Settings) == expected
    Path(".env").unlink()
    for name, path in named.items():
        monkeypatch.setenv(name, path)
    assert load(Settings) == expected


def test_a_rotated_file_is_read_at_the_next_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings are read once, at start."""
    for name, path in in_files(tmp_path, PLAIN).items():
        monkeypatch.setenv(name, path)
    before = load(Settings)
    (tmp_path / "OPENAI_API_KEY").write_text("sk-hunter9")

    assert before.openai_api_key is not None
    assert before.openai_api_key.get_secret_value() == "sk-hunter4"
    after = load(Settings).openai_api_key
    assert after is not None
    assert after.get_secret_value() == "sk-hunter9"


def test_a_secret_that_is_given_twice_or_in_no_file_is_refused(tmp_path: Path) -> None:
    """Both problems together; neither value nor content is shown."""
    environment = {
        **PLAIN,
        **in_files(tmp_path, {"OPENAI_API_KEY": "sk-hunter7"}),
        "SENTRY_DSN_FILE": str(tmp_path / "none"),
    }
    with pytest.raises(ConfigurationError) as caught:
        load(Settings, environment)

    assert "  OPENAI_API_KEY: expected OPENAI_API_KEY or OPENAI_API_KEY_FILE, got both" in str(caught.value)
    assert "  SENTRY_DSN_FILE: expected a file with the secret, got FileNotFoundError" in str(caught.value)
    assert "hunter" not in str(caught.value)
