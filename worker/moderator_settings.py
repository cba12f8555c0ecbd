"""The settings of one moderator, declared once: form, checks and ``docs/settings.md`` are made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from worker.model import OPENAI_MODERATION, FailurePolicy, ModeratorChoice
from worker.setting_description import Section, Setting, setting

MOST_MODERATORS: Final = 5
RULE_PREFIX: Final = "flagged_"
"""Start of matched rules of the account's words and phrases; no moderator may be named so."""
ModeratorName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Category = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]


class ModeratorSettings(BaseModel):
    """One moderator; names and order as in ``worker.model.ModeratorChoice``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: ModeratorName = setting(
        title="Name",
        section=Section.MODERATION,
        help=f"In rules and the audit, such as house-rules; {OPENAI_MODERATION} for the moderation API.",
    )
    endpoint: ModeratorName = setting(
        title="Endpoint",
        section=Section.MODERATION,
        help=f"{OPENAI_MODERATION}, or a classifier of this deployment (HUSHGATE_CLASSIFIERS).",
    )
    failure: Annotated[FailurePolicy | None, Field(strict=False)] = setting(
        default=None,
        title="When it is down",
        section=Section.MODERATION,
        help="hold, block or allow; empty: as moderation_failure.",
    )
    thresholds: Annotated[dict[Category, Annotated[float, Field(ge=0, le=1)]], Field(max_length=100)] = (
        setting(
            default={},
            title="Thresholds of a classifier",
            section=Section.MODERATION,
            help="By category as the classifier names it, the score that stops a text; unsafe stands for"
            " answers without a category. Other categories follow the classifier's answer.",
        )
    )
    policy: Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")] = setting(
        default="",
        title="Policy",
        section=Section.MODERATION,
        help="What a text must not contain, for a classifier that judges by a written policy; empty for"
        " one with categories of its own.",
    )

    @model_validator(mode="after")
    def _fits_its_endpoint(self) -> Self:
        if self.name.startswith(RULE_PREFIX):
            raise ValueError(f"expected a name that does not start with {RULE_PREFIX}")
        if (self.name == OPENAI_MODERATION) != (self.endpoint == OPENAI_MODERATION):
            raise ValueError(f"expected {OPENAI_MODERATION} as name and endpoint, or as neither")
        if self.endpoint == OPENAI_MODERATION and (self.thresholds or self.policy):
            raise ValueError(
                f"expected no thresholds and no policy of {OPENAI_MODERATION}: it has moderation_thresholds"
            )
        return self

    def choice(self) -> ModeratorChoice:
        """The value that travels with the account."""
        return ModeratorChoice(
            name=self.name,
            endpoint=self.endpoint,
            failure=self.failure,
            thresholds=dict(self.thresholds),
            policy=self.policy,
        )


MODERATOR_PARTS: Final[Mapping[str, Setting]] = {
    name: next(each for each in info.metadata if isinstance(each, Setting))
    for name, info in ModeratorSettings.model_fields.items()
}
"""The parts of a moderator, in the order of ``ModeratorSettings``."""


def with_unique_names(chosen: Sequence[ModeratorSettings]) -> Sequence[ModeratorSettings]:
    """The moderators, unchanged.

    Raises:
        ValueError: two have the same name.
    """
    names = [each.name for each in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"expected each name once, got {', '.join(twice)} twice")
    return chosen
