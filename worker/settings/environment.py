"""Reading the environment and ``.env`` into a frozen object; all problems are reported together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from worker.errors import ConfigurationError
from worker.settings.secret_files import SecretFiles, is_secret, secrets_from_files

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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as pydantic-settings calls it
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the files that it names, then ``.env``."""
        files = SecretFiles(settings_cls, os.environ, dotenv_settings)
        return init_settings, env_settings, files, dotenv_settings

    sentry_dsn: SecretStr | None = Field(
        default=None,
        alias="SENTRY_DSN",
        description="Sentry project for errors; receives no prompts, texts or local variables.",
    )


Known = TypeVar("Known", bound=Environment)


def load(kind: type[Known], environment: Mapping[str, str] | None = None) -> Known:
    """The settings of a class, from the environment and ``.env``, or from the given variables only.

    Raises:
        ConfigurationError: one line for every problem, with variable, expectation and value; for files of
            secrets before all others.
    """
    try:
        if environment is None:
            return kind()
        return kind.model_validate({**environment, **secrets_from_files(kind.model_fields, environment)})
    except ValidationError as error:
        lines = [_problem_line(kind, problem) for problem in error.errors(include_url=False)]
        # without its cause, which quotes the input: secrets too
        raise ConfigurationError("\n".join(["the environment is not usable:", *lines])) from None


def secret_variables(fields: Iterable[FieldInfo]) -> frozenset[str]:
    """The variables of these fields whose values are secret."""
    return frozenset(str(field.alias) for field in fields if is_secret(field))


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
