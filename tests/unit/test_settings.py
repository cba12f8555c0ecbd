"""The environment as one object: every problem at once, no secret in sight."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from cli.main import command_line
from worker.errors import ConfigurationError
from worker.settings import (
    ALIASES,
    FIELDS,
    RARE,
    REQUIRED,
    SECRETS,
    DatabaseSettings,
    RetentionSettings,
    ReviewSettings,
    Settings,
    StreamSettings,
    WebhookSettings,
    load,
)

ROOT = Path(__file__).parents[2]
GOOD = {
    "DATABASE_URL": "postgresql://u:hunter2@db:5432/hushgate",
    "REDIS_URL": "redis://:hunter3@cache:6379/0",
    "OPENAI_API_KEY": "sk-hunter4",
    "OPENROUTER_API_KEY": "sk-hunter5",
    "SENTRY_DSN": "https://hunter6@sentry.example/1",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no .env file."""
    monkeypatch.chdir(tmp_path)
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.alias), raising=False)


def refusal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> ConfigurationError:
    """Why these settings are not usable."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load(Settings)
    return caught.value


def test_all_problems_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line has variable, expectation and value."""
    error = refusal(
        monkeypatch,
        DATABASE_URL="mysql://u:hunter2@db/x",
        HUSHGATE_IN_FLIGHT="many",
        HUSHGATE_STREAM="a{b}",
        HUSHGATE_LOG_LEVEL="LOUD",
        HUSHGATE_MODEL_URL="api.openai.com",
    )

    assert str(error).splitlines() == [
        "the environment is not usable:",
        "  DATABASE_URL: expected a URL that starts with postgresql:// or postgres://, got a secret",
        "  HUSHGATE_MODEL_URL: expected a URL that starts with http:// or https://, got 'api.openai.com'",
        "  REDIS_URL: expected a value, got nothing",
        "  HUSHGATE_STREAM: expected a text of the pattern '^[^{}\\s]+$', got 'a{b}'",
        "  HUSHGATE_IN_FLIGHT: expected a valid integer, got 'many'",
        "  HUSHGATE_LOG_LEVEL: expected 'DEBUG', 'INFO', 'WARNING' or 'ERROR', got 'LOUD'",
    ]


def test_a_short_secret_and_a_wrong_switch_are_named() -> None:
    """Without the words of the library."""
    given = {"DATABASE_URL": "postgresql://db/x", "HUSHGATE_APPEAL_SECRET": "short"}
    with pytest.raises(ConfigurationError, match="SECRET: expected at least 32 characters, got a secret"):
        load(ReviewSettings, {**given, "HUSHGATE_REVIEW_URL": "http://localhost"})
    with pytest.raises(
        ConfigurationError, match="HUSHGATE_WEBHOOK_LOOPBACK: expected a valid boolean, got 'maybe'"
    ):
        load(WebhookSettings, {"HUSHGATE_WEBHOOK_LOOPBACK": "maybe"})


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", "postgresql://u:hunter2@db:port/x"),
        ("DATABASE_URL", "postgresql://u:hunter2@db:99999/x"),
        ("DATABASE_URL", "hunter2"),
        ("REDIS_URL", "redis://:hunter3@cache:port/0"),
        ("REDIS_URL", "redis://:hunter3@cache/shop"),  # redis-py would use database 0
        ("REDIS_URL", "http://hunter3"),
    ],
)
def test_an_unusable_url_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    """Neither the message nor a traceback quotes the URL."""
    error = refusal(monkeypatch, **GOOD | {name: url})

    assert f"  {name}: expected " in str(error)
    assert "hunter" not in str(error)
    assert "hunter" not in "".join(traceback.format_exception(error))


def test_secrets_are_masked_in_every_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for repr, str, a dump and pydantic's own error."""
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    settings = load(Settings)
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(GOOD | {"DATABASE_URL": "hunter9"})

    shown = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()} {caught.value}"
    assert "hunter" not in shown
    assert settings.database_url.get_secret_value() == GOOD["DATABASE_URL"]


def test_every_secret_is_known_as_one() -> None:
    """`config show` masks all of them."""
    assert set(GOOD) <= SECRETS
    assert {name for name in ALIASES.values() if name.endswith(("_KEY", "_DSN"))} <= SECRETS


def test_settings_cannot_be_changed() -> None:
    """Settings are read once and frozen."""
    settings = Settings.model_validate(GOOD)
    with pytest.raises(ValidationError):
        settings.in_flight = 5  # type: ignore[misc]


def test_publishing_needs_redis_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """REDIS_URL is enough, and an empty variable counts as none."""
    monkeypatch.setenv("REDIS_URL", GOOD["REDIS_URL"])
    monkeypatch.setenv("HUSHGATE_STREAM", "")

    assert load(StreamSettings).stream == "hushgate:events"


@pytest.mark.parametrize(
    ("stream", "expected"),
    [("hushgate:events", "hushgate"), ("eu:shop:events", "eu:shop"), ("shop", "shop")],
)
def test_outgoing_streams_stand_beside_the_stream_of_events(stream: str, expected: str) -> None:
    """One variable names all streams of an installation."""
    known = load(StreamSettings, {"REDIS_URL": GOOD["REDIS_URL"], "HUSHGATE_STREAM": stream})

    assert known.reply_stream == f"{expected}:replies"
    assert known.retraction_stream == f"{expected}:retractions"
    assert known.escalation_stream == f"{expected}:escalations"


def test_reading_the_audit_needs_postgres_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """DATABASE_URL is enough."""
    monkeypatch.setenv("DATABASE_URL", GOOD["DATABASE_URL"])

    assert load(DatabaseSettings).database_url.get_secret_value() == GOOD["DATABASE_URL"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("HUSHGATE_MODEL_ULR", "do you mean HUSHGATE_MODEL_URL?"),
        ("HUSHGATE_SIGNIN_KEY_FILE", "do you mean HUSHGATE_SIGNING_KEY?"),
        ("HUSHGATE_XYZ", "there is no such variable"),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_misspelt_variable_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str, in_file: bool
) -> None:
    """Its value would have no effect; also for a command that needs another variable only."""
    monkeypatch.setenv("REDIS_URL", GOOD["REDIS_URL"])
    if in_file:
        Path(".env").write_text(f"{name}=hunter7\n")
    else:
        monkeypatch.setenv(name, "hunter7")
    with pytest.raises(ConfigurationError) as caught:
        load(StreamSettings)

    assert said in str(caught.value)
    assert f"  {name}: there is no such variable" in str(caught.value)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    ("keep", "problem"),
    [
        ('{"appeals_days": 3}', "HUSHGATE_KEEP.appeals_days: expected 0 or at least 184, got 3"),
        ('{"access_log_days": 27}', "HUSHGATE_KEEP.access_log_days: expected 0 or at least 28, got 27"),
        ('{"outgoing_days": 6}', "HUSHGATE_KEEP.outgoing_days: expected greater than or equal to 7, got 6"),
        ('{"keys_days": true}', "HUSHGATE_KEEP.keys_days: expected a valid integer, got True"),
        ('{"keys": 3}', "HUSHGATE_KEEP.keys: there is no such field, got 3"),
        ("730", "HUSHGATE_KEEP: expected a JSON object of numbers, out of decisions_months"),
        ("for ever", "HUSHGATE_KEEP: expected a JSON object of numbers, out of decisions_months"),
    ],
)
def test_a_time_that_cannot_be_kept_is_named(keep: str, problem: str) -> None:
    """With the field of the variable; the other fields keep their defaults."""
    with pytest.raises(ConfigurationError) as caught:
        load(RetentionSettings, {"DATABASE_URL": "postgresql://h/d", "HUSHGATE_KEEP": keep})

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HUSHGATE_LMM_MODEL", ""),
        ("HUSHGATE_IMAGE", "registry/hushgate:1"),
        ("HUSHGATE_GATEWAY", "http://127.0.0.1:8086"),
        ("HUSHGATE_REVIEW_SERVICE_HOST", "10.0.0.1"),
        ("HUSHGATE_PORT", "tcp://10.0.0.1:8085"),
        ("HUSHGATE_GATEWAY_PORT_8086_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Empty ones, those of Compose files, and those that Kubernetes sets for a service named hushgate."""
    monkeypatch.setenv("REDIS_URL", GOOD["REDIS_URL"])
    monkeypatch.setenv(name, value)

    assert load(StreamSettings).redis_url.get_secret_value() == GOOD["REDIS_URL"]


@pytest.mark.parametrize("name", FIELDS)
def test_every_variable_is_explained(name: str) -> None:
    """A variable without a description would be printed as None by `config example`."""
    assert FIELDS[name].description


def test_moderation_that_is_off_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does a model's server without keys."""
    environment = {name: GOOD[name] for name in ("DATABASE_URL", "REDIS_URL")} | {
        "OPENAI_MODERATION_ENABLED": "false",
        "OPENROUTER_BASE_URL": "http://127.0.0.1:11434/v1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert load(Settings).openai_api_key is None


def test_a_file_is_read_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment overrides .env."""
    Path(".env").write_text("\n".join(f"{name}={value}" for name, value in GOOD.items()))
    monkeypatch.setenv("REDIS_URL", "redis://else:6379/0")
    settings = load(Settings)

    assert settings.redis_url.get_secret_value() == "redis://else:6379/0"
    assert settings.database_url.get_secret_value() == GOOD["DATABASE_URL"]


def test_the_example_names_the_usual_variables_and_all_of_them_on_demand() -> None:
    """Each once and in one order; `make schema` writes the usual ones into .env.example."""
    pattern = re.compile(r"^#?([A-Z_]+)=", re.MULTILINE)
    every = CliRunner().invoke(command_line(["config"]), ["config", "example", "--all"])
    named = pattern.findall((ROOT / ".env.example").read_text())
    known = [str(field.alias) for field in FIELDS.values()]

    assert pattern.findall(every.stdout) == known
    assert named == [name for name in known if name not in RARE]
    assert set(known) - set(REQUIRED) > RARE
    assert named[:3] == ["DATABASE_URL", "REDIS_URL", "HUSHGATE_MODEL_URL"]


def test_the_example_filled_in_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example with every default uncommented equals the defaults."""
    example = (ROOT / ".env.example").read_text()
    filled = re.sub(r"^#(?=[A-Z_]+=)", "", example, flags=re.MULTILINE)
    for name, value in GOOD.items():
        filled = re.sub(rf"^{name}=$|\Z", f"{name}={value}\n", filled, count=1, flags=re.MULTILINE)
    Path(".env").write_text(filled)

    assert load(Settings) == Settings.model_validate(GOOD)


def test_the_example_says_what_has_no_default() -> None:
    """An empty value is explained: required, or not set by default; none is printed as None."""
    example = (ROOT / ".env.example").read_text()
    empty = re.findall(r"^# (.*)\n#?[A-Z_]+=$", example, re.MULTILINE)

    assert "# None" not in example
    assert [line for line in empty if not line.endswith(("(required)", "Not set by default."))] == []
