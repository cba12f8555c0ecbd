"""The edge where people change an account: a JSON object in, a checked Account out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from worker.assessment import parse_policy
from worker.errors import PolicyRejected, RejectedError
from worker.model import Account, FailurePolicy
from worker.rules import RuleProblem, validate_rules

RULES: Final = frozenset({"flagged_keywords", "flagged_phrases", "allowed"})
"""The settings that are rules."""

ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
Rule = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
Share = Annotated[float, Field(ge=0, le=1)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
Seconds = Annotated[float, Field(ge=0, le=31 * 86_400, allow_inf_nan=False)]


def _without_nul(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if ESCAPED_NUL.search(json.dumps(value)):
        raise ValueError("expected text without NUL")
    return value


class AccountRejected(RejectedError):  # noqa: N818
    """Settings that cannot be stored; the message has one line for every problem.

    Attributes:
        problems: where (``flagged_keywords.3``, ``hold_max_s``) and what was expected and came.
    """

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{place}: {what}" for place, what in self.problems))


class AccountSettings(BaseModel):
    """Everything an account may set; what each means stands at ``worker.model.Account``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ai_control_enabled: bool
    ai_enabled_for_chats: bool
    ai_enabled_for_comments: bool
    flagged_keywords: list[Rule] = Field(max_length=100_000)
    flagged_phrases: list[Rule] = Field(max_length=100_000)
    allowed: list[Rule] = Field(max_length=100_000)
    rules_on_reply: bool
    moderation_thresholds: dict[Name, Share]
    moderation_failure: Annotated[FailurePolicy, Field(strict=False)]
    hold_max_s: Seconds
    reply_max_age_s: Seconds
    languages: list[Language] = Field(max_length=100)
    prompt: Annotated[str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")]
    assessment_policy: Annotated[dict[str, JsonValue], AfterValidator(_without_nul)]
    fallback_texts: dict[Language, Annotated[str, StringConstraints(max_length=5000, pattern=r"^[^\x00]*$")]]


def changed(current: Account, changes: Mapping[str, Any]) -> Account:
    """The account with these settings changed, still carrying the version it came from.

    Raises:
        AccountRejected: unknown settings or values out of range, all of them named.
    """
    settings = {
        name: value for name, value in asdict(current).items() if name in AccountSettings.model_fields
    }
    settings |= {name: list(value) for name, value in settings.items() if isinstance(value, tuple)}
    try:
        checked = AccountSettings.model_validate(settings | dict(changes))
    except ValidationError as error:
        problems = [
            (".".join(map(str, each["loc"])), f"{_expectation(each['msg'])}, got {_shown(each['input'])}")
            for each in error.errors(include_url=False)
        ]
        raise AccountRejected(problems) from error
    try:
        parse_policy(checked.assessment_policy)
    except PolicyRejected as error:
        raise AccountRejected([("assessment_policy", str(error))]) from error
    values = {name: getattr(checked, name) for name in AccountSettings.model_fields}
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Account(user_id=current.user_id, version=current.version, **values)


def rule_problems(account: Account, recent: Sequence[str] = ()) -> tuple[RuleProblem, ...]:
    """What is wrong or doubtful about an account's rules, judged by its recent messages; errors first."""
    return validate_rules(
        account.flagged_keywords, account.flagged_phrases, allow=account.allowed, recent_messages=recent
    )


def _expectation(message: str) -> str:
    if message == "Extra inputs are not permitted":
        return "there is no such setting"
    message = message.removeprefix("Value error, ").replace("Input should be", "expected")
    return message.replace("String should", "expected to")


def _shown(value: object) -> str:
    """What came, as JSON, so that the text "1" and the number 1 differ; at most 80 characters."""
    return json.dumps(value, ensure_ascii=False, default=str)[:80]
