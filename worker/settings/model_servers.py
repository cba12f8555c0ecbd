"""The variables of model servers, and which server each role calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from pydantic import Field, SecretStr, field_validator

from worker.errors import ConfigurationError
from worker.settings.environment import Environment, HttpUrl
from worker.settings.model_names import ModelNames
from worker.settings.retention import key_bytes
from worker.settings.servers import DatabaseSettings

OPENAI: Final = "https://api.openai.com/v1"
OPENROUTER: Final = "https://openrouter.ai/api/v1"
OFF: Final = "off"
"""The model of a role that calls no server."""
MODERATION_MODEL: Final = "omni-moderation-latest"
MODELS: Final = {OPENAI: "gpt-4.1-mini"}
"""Language models by server, where no model is set."""
OTHER_MODEL: Final = "openai/gpt-4.1-mini"
EMBEDDING_MODELS: Final = {
    OPENAI: "text-embedding-3-small",
    OPENROUTER: "openai/text-embedding-3-small",
}
"""Embedding models by server, where no model is set; another server is asked which model it has."""
SOURCE_NAMES: Final = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODERATION_ENABLED",
    "OPENROUTER_API_KEY",
    "OPENROUTER_BASE_URL",
)
"""Names of the source design: OpenRouter's for the model, OpenAI's for moderation and embeddings."""


class ModelRole(StrEnum):
    """What model servers do; each value is the middle of the names of its variables."""

    MODEL = "model"
    MODERATION = "moderation"
    JUDGE = "judge"
    EMBEDDINGS = "embeddings"

    @property
    def variable(self) -> str:
        """The variable that names the model."""
        return f"HUSHGATE_{self.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A server and the model that it is asked for.

    Attributes:
        url: the base URL; empty: no server is connected.
        key: None for a server without keys.
        model: as the server names it; empty for embeddings: none is named.
        owner: the role whose variables name the server.
        named_by: the role whose variable names the model.
    """

    url: str
    key: str | None = field(repr=False)
    model: str
    owner: ModelRole
    named_by: ModelRole

    @property
    def place(self) -> tuple[str, str | None]:
        """URL and key: equal for roles that share a server."""
        return self.url, self.key

    @property
    def lacks_key(self) -> bool:
        """Whether the server is a known vendor and no key is set."""
        return self.key is None and self.url.rstrip("/") in {OPENAI, OPENROUTER}

    @property
    def url_variable(self) -> str:
        """The variable that holds the URL."""
        return f"{self.owner.variable}_URL"

    @property
    def key_variable(self) -> str:
        """The variable that holds the key."""
        return f"{self.owner.variable}_KEY"

    @property
    def default_embedding_model(self) -> str:
        """The embedding model of a well-known server; empty where the server must be asked."""
        return EMBEDDING_MODELS.get(self.url.rstrip("/"), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServers:
    """The server of each role; None for a role that is switched off or, for embeddings, has no server."""

    model: ModelServer
    moderation: ModelServer | None
    judge: ModelServer | None
    embeddings: ModelServer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredServer:
    """The server of a role as an administrator connected it.

    Attributes:
        url: None: the model's server.
        model: empty: the default; ``off``: the role calls no server.
        unreadable: the stored key does not open with HUSHGATE_SECRETS_KEY, so the server is not used.
    """

    role: ModelRole
    url: str | None
    key: SecretStr | None
    model: str
    unreadable: bool = False


class ModelServerSettings(Environment):
    """The model servers, by role; by default each role has the server of the model."""

    model_url: HttpUrl | None = None
    """Base URL of the language model's server, any with the API of OpenAI, most end in /v1: OpenAI,
    OpenRouter, Azure, vLLM, Ollama, LiteLLM. With a key alone: OpenRouter."""
    model_key: SecretStr | None = None
    """Key of HUSHGATE_MODEL_URL; none for a server without keys."""
    model_name: str = Field(default="", alias="HUSHGATE_MODEL")
    """Language model; empty: gpt-4.1-mini, openai/gpt-4.1-mini at servers other than OpenAI."""
    further_models: ModelNames = Field(default={}, alias="HUSHGATE_MODELS")
    """Further language models at the same server as a JSON object, name -> model, for the policy consensus
    and for retry_with; see docs/confidence.md."""
    moderation_url: HttpUrl | None = None
    """Base URL of the moderation API; none: HUSHGATE_MODEL_URL. On a server without this API no event passes
    moderation, see docs/moderators.md."""
    moderation_key: SecretStr | None = None
    """Key of HUSHGATE_MODERATION_URL; none: the model's key, where the server is the same."""
    moderation_name: str = Field(default="", alias="HUSHGATE_MODERATION")
    """Model of the moderation API; empty: omni-moderation-latest; off: no text is moderated, for any account.
    """
    judge_url: HttpUrl | None = None
    """Base URL of the judge's server; none: HUSHGATE_MODEL_URL."""
    judge_key: SecretStr | None = None
    """Key of HUSHGATE_JUDGE_URL; none: the model's key, where the server is the same."""
    judge_name: str = Field(default="", alias="HUSHGATE_JUDGE")
    """Language model of the judge; empty: HUSHGATE_MODEL; off: no judge, and drafts that are not copied from
    a passage wait for people (HELD_UNREAD). The judge reads each draft once, with its passages, and answers
    in a few hundred tokens, so a small model of the same vendor is cheap: openai/gpt-4.1-mini, or
    openai/gpt-4.1-nano at a quarter of its price."""
    embeddings_url: HttpUrl | None = None
    """Base URL of the embedding model's server; none: HUSHGATE_MODEL_URL."""
    embeddings_key: SecretStr | None = None
    """Key of HUSHGATE_EMBEDDINGS_URL; none: the model's key, where the server is the same."""
    embeddings_name: str = Field(default="", alias="HUSHGATE_EMBEDDINGS")
    """Embedding model; empty: text-embedding-3-small of OpenAI, or what another server offers; off: search by
    words only."""
    embeddings_dimensions: int = Field(default=0, ge=0, le=4000)
    """Length of the vectors to request; 0: as the model has it."""

    secrets_key: SecretStr | None = None
    """Key that seals secrets in the database, 32 bytes in base64, the same for workers and review pages: keys
    of model servers that administrators connect, and keys of second factors; `openssl rand -base64 32` makes
    one. Without it keys of servers cannot be stored."""
    openai_api_key: SecretStr | None = Field(default=None, alias="OPENAI_API_KEY")
    """Key of OPENAI_BASE_URL."""
    openai_base_url: HttpUrl | None = Field(default=None, alias="OPENAI_BASE_URL")
    """Server of moderation and embeddings; of the model too, where none is set."""
    openai_moderation_enabled: bool = Field(default=True, alias="OPENAI_MODERATION_ENABLED")
    """False: as HUSHGATE_MODERATION=off."""
    openrouter_api_key: SecretStr | None = Field(default=None, alias="OPENROUTER_API_KEY")
    """Key of OPENROUTER_BASE_URL."""
    openrouter_base_url: HttpUrl | None = Field(default=None, alias="OPENROUTER_BASE_URL")
    """Server of the model and the judge."""

    @property
    def servers(self) -> ModelServers:
        """The server of each role. A key is sent to its own server only."""
        openai = self.openai_base_url or (OPENAI if self.openai_api_key else None)
        router = self.openrouter_base_url or (OPENROUTER if self.openrouter_api_key else None)
        keys = {openai: self.openai_api_key, router: self.openrouter_api_key}
        url = self.model_url or router or (OPENROUTER if self.model_key else openai) or ""
        keys[url] = self.model_key or keys.get(url)
        name = self.model_name or MODELS.get(url.rstrip("/"), OTHER_MODEL)

        def of(role: ModelRole, name: str, own: str | None, key: SecretStr | None) -> ModelServer | None:
            place = own or url
            if name == OFF or not place:
                return None
            secret, owner = key or keys.get(place), role if own or key else ModelRole.MODEL
            return _server(place, secret, name, owner, role)

        moderation = self.moderation_name or MODERATION_MODEL if self.moderates else OFF
        judge = of(ModelRole.JUDGE, self.judge_name or name, self.judge_url, self.judge_key)
        return ModelServers(
            model=_server(url, keys[url], name, ModelRole.MODEL, ModelRole.MODEL),
            moderation=of(
                ModelRole.MODERATION, moderation, self.moderation_url or openai, self.moderation_key
            ),
            judge=judge if judge is None or self.judge_name else replace(judge, named_by=ModelRole.MODEL),
            embeddings=of(
                ModelRole.EMBEDDINGS, self.embeddings_name, self.embeddings_url or openai, self.embeddings_key
            ),
        )

    @field_validator("secrets_key")
    @classmethod
    def _secrets_key_is_usable(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            key_bytes(key.get_secret_value())
        return key

    def fixed_place(self, role: ModelRole) -> bool:
        """Whether the environment names the server of a role, by URL or key."""
        openai = self.openai_base_url or self.openai_api_key
        match role:
            case ModelRole.MODEL:
                router = self.openrouter_base_url or self.openrouter_api_key
                return bool(self.model_url or self.model_key or router or openai)
            case ModelRole.MODERATION:
                return bool(self.moderation_url or self.moderation_key or openai)
            case ModelRole.JUDGE:
                return bool(self.judge_url or self.judge_key)
            case ModelRole.EMBEDDINGS:
                return bool(self.embeddings_url or self.embeddings_key or openai)

    def fixed_model(self, role: ModelRole) -> bool:
        """Whether the environment names the model of a role, or switches the role off."""
        disabled = role is ModelRole.MODERATION and not self.openai_moderation_enabled
        return bool(getattr(self, f"{role}_name")) or disabled

    def with_stored(self, stored: Iterable[StoredServer]) -> Self:
        """These settings with stored servers where the environment names none.

        Address and key go together, so that no key is sent to an address that it was not entered for.
        """
        update: dict[str, object] = {}
        for each in stored:
            if not self.fixed_place(each.role) and not each.unreadable:
                update |= {f"{each.role}_url": each.url, f"{each.role}_key": each.key}
                if each.role is ModelRole.MODEL:  # keys of the environment without an address are not for it
                    keyed = (role for role in ModelRole if getattr(self, f"{role}_url") is None)
                    update |= {f"{role}_key": None for role in keyed if self.fixed_place(role)}
            if not self.fixed_model(each.role):
                update[f"{each.role}_name"] = each.model
        return self.model_copy(update=update)

    @property
    def moderates(self) -> bool:
        """Whether texts are moderated by the moderation API."""
        return self.openai_moderation_enabled and self.moderation_name != OFF

    @property
    def moderation_problem(self) -> str | None:
        """What the moderation API lacks; None: nothing, or moderation is off."""
        server = self.servers.moderation
        without = server is None or server.lacks_key or server.url.rstrip("/") == OPENROUTER
        if not self.moderates or not without:
            return None
        expected = "expected a server with a moderation API and its key, or HUSHGATE_MODERATION=off"
        return f"HUSHGATE_MODERATION_URL, HUSHGATE_MODERATION_KEY: {expected}"

    @property
    def models_problem(self) -> str | None:
        """Why no event can be decided; None: each role has a server or is off."""
        model = self.servers.model
        if not model.url or model.lacks_key:
            return f"{model.url_variable}, {model.key_variable}: expected a server of the model and its key"
        return self.moderation_problem


def require_models(settings: ModelServerSettings) -> None:
    """Return when events can be decided with these settings.

    Raises:
        ConfigurationError: a role has no server; the message names its variables.
    """
    if (problem := settings.models_problem) is not None:
        raise ConfigurationError(f"the environment is not usable:\n  {problem}")


def _server(
    url: str, key: SecretStr | None, model: str, owner: ModelRole, named_by: ModelRole
) -> ModelServer:
    secret = key.get_secret_value() if key else None
    return ModelServer(url=url, key=secret, model=model, owner=owner, named_by=named_by)


class DocumentSettings(DatabaseSettings, ModelServerSettings):
    """Settings of the document commands."""
