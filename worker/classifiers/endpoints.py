"""The classifiers that a deployment declares, as the environment has them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints
from pydantic_settings import NoDecode

from worker.classifiers.formats import FORMATS, ClassifierFormat
from worker.json_variables import json_value
from worker.model import OPENAI_MODERATION

EXPECTED: Final = f"a JSON object with one field per classifier, none named {OPENAI_MODERATION}"


class ClassifierEndpoint(BaseModel):
    """One classifier of the deployment.

    Attributes:
        base_url: of an OpenAI-compatible API, which has ``/chat/completions``.
        max_tokens: longest answer paid for; 0: as the format needs.
        logprobs: ask for probabilities of tokens, from which the score is made.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = Field(pattern=r"^https?://\S+$")
    model: str = Field(min_length=1)
    format: ClassifierFormat
    timeout_s: float = Field(default=10.0, gt=0, le=120)
    max_tokens: int = Field(default=0, ge=0, le=32_768)
    logprobs: bool = True

    @property
    def answer_tokens(self) -> int:
        """Longest answer paid for."""
        return self.max_tokens or FORMATS[self.format].max_tokens


def _named(value: object) -> object:
    found = json_value(value, expected=EXPECTED)
    if OPENAI_MODERATION in found:
        raise ValueError(f"expected {EXPECTED}")
    return found


EndpointName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Classifiers = Annotated[dict[EndpointName, ClassifierEndpoint], NoDecode, BeforeValidator(_named)]
"""Name -> classifier, written as a JSON object."""
ClassifierKeys = Annotated[dict[EndpointName, SecretStr], NoDecode, BeforeValidator(_named)]
"""Name -> key of the classifier, written as a JSON object."""
