"""The variables of the transparency log."""

from __future__ import annotations

from pydantic import Field, SecretStr

from worker.settings.servers import DatabaseSettings


class TransparencySettings(DatabaseSettings):
    """Settings of ``hushgate audit-log``; workers need none of them and must not have the key."""

    audit_log_name: str = Field(
        default="hushgate",
        pattern=r"^[^+\s]+$",
        alias="HUSHGATE_AUDIT_LOG_NAME",
        description="Name of the transparency log in its checkpoints, such as example.org/hushgate.",
    )
    audit_log_key: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_AUDIT_LOG_KEY",
        description="Private key that signs the transparency log; hushgate audit-log key makes one.",
    )
    audit_log_old_verifiers: tuple[str, ...] = Field(
        default=(),
        alias="HUSHGATE_AUDIT_LOG_OLD_VERIFIERS",
        description="Verifier keys of private keys that were replaced, as a JSON list.",
    )
