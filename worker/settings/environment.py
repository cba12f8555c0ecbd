"""Reading the environment and ``.env`` into a frozen object; all problems are reported together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.errors import ConfigurationError

HttpUrl = Annotated[str, Field(pattern=r"^https?://\S+$")]


class Environment(BaseSettings):
    """How every settings class reads the environment and ``.env``."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        env_ignore_empty=True,
        case_sensitive=True,
        hide_input_in_errors=True,  # a traceback of ValidationError would quote secrets
    )

    sentry_dsn: SecretStr | None = Field(
        default=None,
        alias="SENTRY_DSN",
        description="Sentry project for errors; receives no prompts, texts or local variables.",
    )


Known = TypeVar("Known", bound=Environment)


def load(kind: type[Known], environment: Mapping[str, str] | None = None) -> Known:
    """The settings of a class, from the environment and ``.env``, or from the given variables only.

    Raises:
        ConfigurationError: one line for every problem, with variable, expectation and value.
    """
    try:
        return kind() if environment is None else kind.model_validate(dict(environment))
    except ValidationError as error:
        lines = [_problem_line(kind, problem) for problem in error.errors(include_url=False)]
        # without its cause, which quotes the input: secrets too
        raise ConfigurationError("\n".join(["the environment is not usable:", *lines])) from None


def secret_variables(fields: Iterable[FieldInfo]) -> frozenset[str]:
    """The variables of these fields whose values are secret."""
    return frozenset(str(field.alias) for field in fields if "SecretStr" in str(field.annotation))


def _problem_line(kind: type[Environment], problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if name in kind.model_fields:
        name = str(kind.model_fields[name].alias)
    if problem["type"] == "missing":
        return f"  {name}: expected a value, got nothing"
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    message = message.replace("String should", "expected to").partition(", unable to parse")[0]
    value = problem["input"]
    shown = (
        "a secret"
        if name.partition(".")[0] in secret_variables(kind.model_fields.values()) and value is not None
        else repr(value)
    )
    return f"  {name}: {message}, got {shown}"
