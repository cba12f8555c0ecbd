"""The variables that declare classifiers."""

from __future__ import annotations

from pydantic import Field

from worker.classifiers.endpoints import Classifiers
from worker.settings.environment import Environment


class ClassifierSettings(Environment):
    """The classifiers that accounts may choose as moderators, by name."""

    classifiers: Classifiers = Field(default={})
    """Classifiers behind chat endpoints as a JSON object, name -> base_url, model and format; see
    docs/moderators.md."""
