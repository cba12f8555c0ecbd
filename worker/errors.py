"""Every error Hushgate raises on purpose, sorted by who must act.

    HushgateError
    ├── RetryableError         the queue: the same call may succeed later
    │   ├── ModerationUnavailable
    │   ├── ModelUnavailable
    │   ├── RetrievalUnavailable
    │   ├── IdentityUnavailable
    │   └── StorageUnavailable
    ├── RejectedError          a person: the input can never succeed as it is
    │   ├── PayloadRejected
    │   ├── ModerationRejected
    │   ├── ModelRejected
    │   ├── RuleRejected
    │   ├── PolicyRejected
    │   ├── DocumentRejected
    │   ├── EmbeddingRejected
    │   └── IdentityRejected
    └── ConfigurationError     the deployer: nothing will work until it is mended

Anything else that is raised is a bug and rises.
"""

from __future__ import annotations

from collections.abc import Sequence


class HushgateError(Exception):
    """Base of everything raised on purpose."""


class RetryableError(HushgateError):
    """The same call may succeed later without anybody's help.

    Attributes:
        kind: short stable word for logs and snapshots, such as ``timeout`` or ``rate_limited``.
        retry_after_s: seconds the other side asked us to wait, or None when it did not say.
    """

    def __init__(
        self, message: str, *, kind: str = "unavailable", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s


class ModerationUnavailable(RetryableError):  # noqa: N818  # named for the state, as DESIGN.md does
    """The moderation API gave no usable verdict. Never to be read as a score."""


class ModelUnavailable(RetryableError):  # noqa: N818
    """The language model gave no usable completion this time."""


class RetrievalUnavailable(RetryableError):  # noqa: N818
    """Documents could not be searched."""


class IdentityUnavailable(RetryableError):  # noqa: N818
    """The identity provider did not answer, or not as one."""


class StorageUnavailable(RetryableError):  # noqa: N818
    """Postgres or Redis did not answer."""


class RejectedError(HushgateError):
    """The input can never succeed as it is; a person must change it."""


class PayloadRejected(RejectedError):  # noqa: N818
    """A payload cannot become an event.

    Attributes:
        code: stable word stored in ``dead_letters.reason_code``.
        field: dotted path of the offending field, or ``data`` for the payload as a whole.
        expected: what the field must be.
        got: what came, shortened, never more than 120 characters.
    """

    def __init__(self, *, code: str, field: str, expected: str, got: str) -> None:
        self.code = code
        self.field = field
        self.expected = expected
        self.got = got[:120]
        super().__init__(f"{field}: expected {expected}, got {self.got}")


class ModerationRejected(RejectedError):  # noqa: N818
    """The moderation API refused this very input (400, 413, 422), such as an image it cannot fetch."""


class ModelRejected(RejectedError):  # noqa: N818
    """The model's server refused the request as such (400, 401, 403, 404, 422); asking again cannot help.

    Attributes:
        status: HTTP status code.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class RuleRejected(RejectedError):  # noqa: N818
    """A moderation rule cannot be used as written.

    Attributes:
        rule: the rule as the account wrote it, shortened to 120 characters.
        reason: what is wrong and how to mend it.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule = rule[:120]
        self.reason = reason
        super().__init__(f"rule {self.rule!r}: {reason}")


class PolicyRejected(RejectedError):  # noqa: N818
    """An assessment policy cannot be used as written.

    Attributes:
        problems: one line per field: ``field: expected ..., got ...``.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class DocumentRejected(RejectedError):  # noqa: N818
    """A document cannot be read; the message goes after its name, such as ``is locked by a password``."""


class EmbeddingRejected(RejectedError):  # noqa: N818
    """The embedding server refused the request as such; asking again cannot help.

    Attributes:
        status: HTTP status code.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class IdentityRejected(RejectedError):  # noqa: N818
    """What the identity provider says of somebody is not to be believed, or it refused them."""


class ConfigurationError(HushgateError):
    """The deployment is wrong; the message lists every problem found, one a line."""
