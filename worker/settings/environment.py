"""Reading the environment and ``.env`` into a frozen object; all problems are reported together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Annotated, Any, Final, TypeVar

from dotenv import dotenv_values
from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from worker.errors import ConfigurationError
from worker.expectations import expectation, place_of
from worker.settings.secret_files import SUFFIX, SecretFiles, is_secret, secrets_from_files


def http_url(value: str) -> str:
    """The same URL; ValueError for another scheme or a space in it."""
    if not re.fullmatch(r"https?://\S+", value):
        raise ValueError("expected a URL that starts with http:// or https://")
    return value


HttpUrl = Annotated[str, AfterValidator(http_url)]

PREFIX: Final = "HUSHGATE_"
ONLY_GIVEN: Final = ContextVar("ONLY_GIVEN", default=False)
"""Whether settings are read from given variables, not from the environment of this process."""
NOT_OURS: Final = re.compile(
    r"HUSHGATE_((REVIEW_)?IMAGE|URL|GATEWAY|TOKEN|CHROMIUM|PGBOUNCER|PICTURES"
    r"|(\w+_)?SERVICE_(HOST|PORT\w*)|(\w+_)?PORT_\d+_\w+)"
)
"""Variables of Compose files, of clients, of tests, and of Kubernetes for a service named hushgate."""


class Environment(BaseSettings):
    """How every settings class reads the environment and ``.env``.

    A field is read from the variable ``HUSHGATE_`` with its name, but for those with an ``alias``; its
    docstring is the description in documents and commands.
    """

    model_config = SettingsConfigDict(
        defer_build=True,  # a process uses one or two of the classes
        frozen=True,
        extra="ignore",
        env_file=".env",
        env_ignore_empty=True,
        case_sensitive=True,
        str_strip_whitespace=True,  # of a pasted key or URL
        hide_input_in_errors=True,  # a traceback of ValidationError would quote secrets
        use_attribute_docstrings=True,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Name each field's variable and keep its description on one line."""
        for name, field in cls.model_fields.items():
            if field.alias is None:
                field.alias = field.validation_alias = field.serialization_alias = f"{PREFIX}{name.upper()}"
                field.alias_priority = 2
            field.description = " ".join((field.description or "").split()) or None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as pydantic-settings calls it
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the files that it names, then ``.env``; or the given variables only."""
        if ONLY_GIVEN.get():
            return (init_settings,)
        files = SecretFiles(settings_cls, os.environ, dotenv_settings)
        return init_settings, env_settings, files, dotenv_settings

    sentry_dsn: SecretStr | None = Field(default=None, alias="SENTRY_DSN")
    """Sentry project for errors; receives no prompts, texts or local variables."""
    # for ``config``; ``features.feature`` reads the variable, before any settings are loaded
    features: str = Field(default="", alias="HUSHGATE_FEATURES")
    """Optional features in force, separated by commas: trials, compliance; none: no feature. Empty: all of
    them."""


Known = TypeVar("Known", bound=Environment)


def load(kind: type[Known], environment: Mapping[str, str] | None = None) -> Known:
    """The settings of a class, from the environment and ``.env``, or from the given variables only.

    Raises:
        ConfigurationError: one line for every problem, with variable, expectation and value, and for every
            variable of ours that is unknown; for files of secrets before all others.
    """
    given = os.environ | dotenv_values(".env") if environment is None else environment
    lines = list(_unknown_lines(given))
    try:
        if environment is None:
            found = kind()
        else:
            given_alone = ONLY_GIVEN.set(True)
            try:
                found = kind.model_validate(
                    {**environment, **secrets_from_files(kind.model_fields, environment)}
                )
            finally:
                ONLY_GIVEN.reset(given_alone)
    except ValidationError as error:
        lines += [_problem_line(kind, problem) for problem in error.errors(include_url=False)]
    else:
        if not lines:
            return found
    # without the validation error as its cause, which quotes the input: secrets too
    raise ConfigurationError("\n".join(["the environment is not usable:", *lines])) from None


def secret_variables(fields: Iterable[FieldInfo]) -> frozenset[str]:
    """The variables of these fields whose values are secret."""
    return frozenset(str(field.alias) for field in fields if is_secret(field))


def _unknown_lines(given: Mapping[str, str | None]) -> Iterator[str]:
    """Variables with our prefix and a value that no settings class has, with the nearest known name."""
    known = {str(field.alias) for kind in _kinds(Environment) for field in kind.model_fields.values()}
    for name, value in sorted(given.items()):
        plain = name.removesuffix(SUFFIX)
        foreign = NOT_OURS.fullmatch(name) or str(value).startswith(("tcp://", "udp://"))
        if name.startswith(PREFIX) and value and not foreign and not {name, plain} & known:
            near = get_close_matches(plain, known, n=1)
            yield f"  {name}: there is no such variable" + (f"; do you mean {near[0]}?" if near else "")


def _kinds(kind: type[Environment]) -> Iterator[type[Environment]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def _problem_line(kind: type[Environment], problem: Any) -> str:
    name = place_of(problem["loc"])
    if name in kind.model_fields:
        name = str(kind.model_fields[name].alias)
    if problem["type"] == "missing":
        return f"  {name}: expected a value, got nothing"
    value = problem["input"]
    shown = (
        "a secret"
        if name.partition(".")[0] in secret_variables(kind.model_fields.values()) and value is not None
        else repr(value)
    )
    unknown = problem["type"] == "extra_forbidden"
    expected = "there is no such field" if unknown else f"expected {expectation(problem['msg'])}"
    return f"  {name}: {expected}, got {shown}"
