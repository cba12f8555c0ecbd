"""The variables of the transparency log."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from worker.settings.servers import DatabaseSettings


def _keys(value: object) -> object:
    return value.replace(",", " ").split() if isinstance(value, str) else value


PublicKeys = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_keys)]


class TransparencySettings(DatabaseSettings):
    """Settings of ``hushgate audit-log``; workers need none of them and must not have the key."""

    audit_log_key: SecretStr | None = None
    """Name of the transparency log and the private key that signs its checkpoints, as `hushgate audit-log key
    --name example.org/hushgate` prints them."""
    audit_log_verifiers: PublicKeys = ()
    """Verifier keys of the transparency log, that of the present key and those of former keys, separated by
    commas."""
    receipt_keys: PublicKeys = Field(default=(), alias="HUSHGATE_RECEIPT_VERIFIERS")
    """Public keys of receipts of erasures, as `hushgate erasure key` prints them, separated by commas;
    hushgate audit-log verify believes an erasure only with its receipt."""
