"""Secrets from files: ``NAME_FILE`` is the path of a file with the value of the secret variable ``NAME``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource

from worker.errors import ConfigurationError

SUFFIX: Final = "_FILE"


def is_secret(field: FieldInfo) -> bool:
    """True for a variable whose value is secret."""
    return "SecretStr" in str(field.annotation)


def secrets_from_files(fields: Mapping[str, FieldInfo], environment: Mapping[str, str]) -> dict[str, Any]:
    """The value of each secret variable whose file is named, without the newline at its end.

    Raises:
        ConfigurationError: one line for each file that cannot be read, and each secret that is given twice.
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, field in _named(fields, environment):
        if environment.get(name):
            problems.append(f"  {name}: expected {name} or {name}{SUFFIX}, got both")
            continue
        try:
            found[name] = _value(field, Path(environment[f"{name}{SUFFIX}"]).read_text())
        except (OSError, ValueError) as error:  # its message may quote what is in the file
            found_there = getattr(error, "strerror", None) or "one without a usable value"
            problems.append(f"  {name}{SUFFIX}: expected a file with the secret, got {found_there}")
    if problems:
        raise ConfigurationError("\n".join(["the environment is not usable:", *problems]))
    return found


def _named(
    fields: Mapping[str, FieldInfo], environment: Mapping[str, str]
) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in fields.items():
        variable = str(field.alias or name)
        if is_secret(field) and environment.get(f"{variable}{SUFFIX}"):
            yield variable, field


def _value(field: FieldInfo, text: str) -> Any:
    text = text.rstrip("\r\n")
    if not text.strip():
        raise ValueError("an empty file")
    return orjson.loads(text) if "dict" in str(field.annotation) else text


class SecretFiles(PydanticBaseSettingsSource):
    """The source of secrets from files, for pydantic-settings; ``dotenv`` may name files too."""

    def __init__(self, settings: type[BaseSettings], environment: Mapping[str, str], dotenv: Any) -> None:
        super().__init__(settings)
        read = dotenv.env_vars if isinstance(dotenv, DotEnvSettingsSource) else {}
        self._environment = {name: value for name, value in {**read, **environment}.items() if value}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Not used: ``__call__`` gives all values together."""
        return None, str(field.alias or field_name), False

    def __call__(self) -> dict[str, Any]:
        """Every secret that a file has."""
        return secrets_from_files(self.settings_cls.model_fields, self._environment)
