"""Secrets: each can be in a file, and none is in the words of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.adapters.secret_mask import MASK, SecretMask
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
        **in_files(tmp_path, {"OPENROUTER_API_KEY": " "}),
    }
    del environment["OPENROUTER_API_KEY"]
    with pytest.raises(ConfigurationError) as caught:
        load(Settings, environment)

    assert sorted(str(caught.value).splitlines()[1:]) == [
        "  OPENAI_API_KEY: expected OPENAI_API_KEY or OPENAI_API_KEY_FILE, got both",
        "  OPENROUTER_API_KEY_FILE: expected a file with the secret, got one without a usable value",
        "  SENTRY_DSN_FILE: expected a file with the secret, got No such file or directory",
    ]
    assert "hunter" not in str(caught.value)


def test_spaces_around_a_pasted_value_do_not_belong_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the environment and in a file; a key of spaces is none."""
    for name, value in {**PLAIN, "HUSHGATE_MODEL_URL": "http://model/v1", "HUSHGATE_MODEL_KEY": " "}.items():
        monkeypatch.setenv(name, f" {value}\n")
    monkeypatch.delenv("OPENROUTER_API_KEY")
    for name, path in in_files(tmp_path, {"OPENROUTER_API_KEY": " sk-hunter5 \n"}).items():
        monkeypatch.setenv(name, path)
    found = load(Settings)

    keys = (found.openai_api_key, found.openrouter_api_key)
    assert [each and each.get_secret_value() for each in keys] == ["sk-hunter4", "sk-hunter5"]
    assert (found.servers.model.url, found.servers.model.key) == ("http://model/v1", None)


KEY = "sk-live/Ab12+Cd34=Ef56"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"Bearer {KEY} is unknown", f"Bearer {MASK} is unknown"),
        ("wrong key sk-live/Ab1*****Ef56", f"wrong key {MASK}*****Ef56"),
        ("ends with +Cd34=Ef56", f"ends with {MASK}"),
        ("/v1?key=sk-live%2FAb12%2BCd34%3DEf56", f"/v1?key={MASK}"),
        ("sk-live is the form of a key", "sk-live is the form of a key"),
        (f"{KEY}{KEY}", MASK * 2),
    ],
)
def test_a_secret_is_masked_whole_in_runs_and_in_a_url(said: str, shown: str) -> None:
    """Seven characters of it in a row are not a run."""
    assert SecretMask(KEY).text(said) == shown


def test_every_text_of_a_json_value_is_masked() -> None:
    """Keys, lists and nested objects; numbers stay."""
    value = {"error": {"headers": [f"Authorization: {KEY}"], KEY: 1, "code": 401}, "ok": None}

    assert SecretMask(KEY).json(value) == {
        "error": {"headers": [f"Authorization: {MASK}"], MASK: 1, "code": 401},
        "ok": None,
    }


def test_short_secrets_leave_words_alone() -> None:
    """A placeholder of a server without a key is no secret."""
    assert SecretMask("none", "").text("none of these") == "none of these"


def test_an_answer_of_success_is_without_whole_secrets() -> None:
    """Its other bytes are as they came."""
    mask = SecretMask("sk-abcdefghijklmnop")

    assert (
        mask.answer(b'{"text": "sk-abcdefghijklmnop \xf0\x9f\x98\x80"}')
        == b'{"text": "******** \xf0\x9f\x98\x80"}'
    )
    assert mask.answer(b"{}") == b"{}"
    assert SecretMask("sandbox").answer(b'{"model": "sandbox-7b"}') == b'{"model": "sandbox-7b"}'
