"""The variables of moderation, for workers and for the review pages."""

from __future__ import annotations

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from worker.classifiers.endpoints import ClassifierKeys
from worker.settings.classifiers import ClassifierSettings


class ModerationSettings(ClassifierSettings):
    """How the moderation API is called, and the keys of classifiers."""

    moderation_timeout_s: float = Field(default=10.0, gt=0, le=120)
    """Time limit of one moderation call, in seconds."""
    moderation_batch: int = Field(default=32, ge=1, le=32)
    """Most texts of one moderation request; 1 for a server that takes one text only."""
    moderation_reuse_s: float = Field(default=300.0, ge=0, le=86_400)
    """Seconds that a moderation result is reused for an equal text, per worker; 0: never."""
    classifier_keys: ClassifierKeys = Field(default={})
    """Keys of HUSHGATE_CLASSIFIERS as a JSON object, name -> key; none for a server without keys."""

    @field_validator("classifier_keys")
    @classmethod
    def _keys_have_classifiers(cls, keys: dict[str, SecretStr], info: ValidationInfo) -> dict[str, SecretStr]:
        if unknown := sorted(keys.keys() - info.data.get("classifiers", keys).keys()):
            raise ValueError(f"expected names of HUSHGATE_CLASSIFIERS, also {', '.join(unknown)} is there")
        return keys
