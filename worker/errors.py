"""Every error Hushgate raises on purpose, sorted by who must act.

    HushgateError
    ├── RetryableError         the queue: the same call may succeed later
    │   ├── ModerationUnavailable
    │   ├── ModelUnavailable
    │   ├── RetrievalUnavailable
    │   ├── IdentityUnavailable
    │   ├── StorageUnavailable
    │   ├── StreamFull
    │   ├── StreamSealed
    │   └── NotReplicated
    ├── RejectedError          a person: the input can never succeed as it is
    │   ├── PayloadRejected
    │   ├── ModerationRejected
    │   ├── ModelRejected
    │   ├── RuleRejected
    │   ├── PolicyRejected
    │   ├── DocumentRejected
    │   ├── EmbeddingRejected
    │   └── IdentityRejected
    └── ConfigurationError     the deployer: nothing will work until the deployment is corrected
        └── EndpointMisconfigured

Anything else that is raised is a bug and rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class HushgateError(Exception):
    """Base of everything raised on purpose."""


class RetryableError(HushgateError):
    """The same call may succeed later without a change.

    Attributes:
        kind: short stable word for logs and snapshots, such as ``timeout`` or ``rate_limited``.
        retry_after_s: seconds the server asked us to wait, or None.
    """

    def __init__(
        self, message: str, *, kind: str = "unavailable", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s


class ModerationUnavailable(RetryableError):
    """The moderation API gave no usable result. It is never read as a score."""


class ModelUnavailable(RetryableError):
    """The language model gave no usable completion this time."""


class RetrievalUnavailable(RetryableError):
    """Documents could not be searched."""


class IdentityUnavailable(RetryableError):
    """The identity provider gave no valid answer."""


class StorageUnavailable(RetryableError):
    """Postgres or Redis did not answer, or refused writes.

    Attributes:
        may_be_input: True when one input may always cause it, so that retries must end.
    """

    def __init__(self, message: str, *, kind: str = "unavailable", may_be_input: bool = False) -> None:
        super().__init__(message, kind=kind)
        self.may_be_input = may_be_input


def is_outage(error: Exception) -> bool:
    """Whether the server failed, so that every other call would fail as well."""
    return isinstance(error, StorageUnavailable) and not error.may_be_input


class StreamFull(RetryableError):
    """Redis has no memory left for new entries; publish again when the backlog is smaller.

    Attributes:
        published: ids of the entries appended before the refusal, in order.
    """

    def __init__(self, message: str, *, published: Sequence[str] = ()) -> None:
        super().__init__(message, kind="full")
        self.published = tuple(published)


class StreamSealed(RetryableError):
    """The shards of a stream are being doubled; publish again in a moment.

    Attributes:
        published: ids of the entries appended before, in order.
    """

    def __init__(self, message: str, *, published: Sequence[str] = ()) -> None:
        super().__init__(message, kind="sealed")
        self.published = tuple(published)


class NotReplicated(RetryableError):
    """Too few replicas had new entries in time; publish the same events again, each id is decided once.

    Attributes:
        published: ids of the entries that enough replicas have, in order.
    """

    def __init__(self, message: str, *, published: Sequence[str] = ()) -> None:
        super().__init__(message, kind="not_replicated")
        self.published = tuple(published)


class RejectedError(HushgateError):
    """The input can never succeed as it is; a person must change it."""


class PayloadFault(StrEnum):
    """Why a payload is a dead letter: ``dead_letters.reason_code``."""

    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    NOT_OBJECT = "not_object"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    MISSING_DATA = "missing_data"
    INVALID = "invalid"
    WRONG_SHARD = "wrong_shard"
    POISON = "poison"


class PayloadRejected(RejectedError):
    """A payload cannot become an event.

    Attributes:
        code: why.
        field: dotted path of the offending field, or ``data`` for the payload as a whole.
        expected: what the field must be.
        got: what came, shortened to 120 characters.
        further: the other wrong fields of the payload, as far as they are known.
    """

    further: tuple[PayloadRejected, ...] = ()

    def __init__(self, *, code: PayloadFault, field: str, expected: str, got: str) -> None:
        self.code = code
        self.field = field
        self.expected = expected
        self.got = got[:120]
        super().__init__(f"{field}: expected {expected}, got {self.got}")


class ModerationRejected(RejectedError):
    """The moderation API refused this input (400, 413, 422), such as an image it cannot fetch.

    Attributes:
        is_too_long: the input is refused for its length.
    """

    def __init__(self, message: str, *, is_too_long: bool = False) -> None:
        super().__init__(message)
        self.is_too_long = is_too_long


class ModelRejected(RejectedError):
    """The model's server refused the request (400, 401, 403, 404, 422); the same one cannot succeed.

    Attributes:
        status: HTTP status code; 0 when the answer was not the API's.
        kind: ``rejected``, or ``misconfigured`` when not the request but the deployment is wrong.
        is_too_long: the request is refused for its length; a shorter one may pass.
    """

    def __init__(
        self, message: str, *, status: int, kind: str = "rejected", is_too_long: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.is_too_long = is_too_long


class RuleRejected(RejectedError):
    """A moderation rule cannot be used as written.

    Attributes:
        rule: the rule as the account wrote it, shortened to 120 characters.
        reason: what is wrong and how to correct it.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule = rule[:120]
        self.reason = reason
        super().__init__(f"rule {self.rule!r}: {reason}")


class PolicyRejected(RejectedError):
    """An assessment policy cannot be used as written.

    Attributes:
        problems: one line per field: ``field: expected ..., got ...``.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class DocumentRejected(RejectedError):
    """A document cannot be read; the message continues its name, such as ``is locked by a password``."""


class EmbeddingRejected(RejectedError):
    """The embedding server refused the request; a retry cannot help.

    Attributes:
        status: HTTP status code.
        is_too_long: the text is refused for its length.
    """

    def __init__(self, message: str, *, status: int, is_too_long: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.is_too_long = is_too_long


class IdentityRejected(RejectedError):
    """The identity provider refused the person, or its answer is not trustworthy."""


class ConfigurationError(HushgateError):
    """The deployment is wrong; the message lists every problem found, one a line."""


class EndpointMisconfigured(ConfigurationError):
    """A model server refuses this deployment: no outage, and no input can succeed.

    Attributes:
        cause: what to correct: ``key``, ``quota``, ``model``, ``address``, ``proxy``; or an account's
            ``policy``.
        status: HTTP status code; 0 when the answer was not the API's.
    """

    kind = "misconfigured"
    retry_after_s = None

    def __init__(self, message: str, *, cause: str, status: int = 0) -> None:
        super().__init__(message)
        self.cause = cause
        self.status = status
