"""The variables of mail."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from worker.settings.environment import Environment

SCHEMES = frozenset({"smtp", "smtps"})


class MailSettings(Environment):
    """The server that sends mail, and the sender."""

    smtp_url: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_SMTP_URL",
        description="Mail server for digests: smtps://user:password@host:465, or smtp://host:587, then with"
        " STARTTLS, which only a server on this machine may lack. Without it digests go to webhooks only.",
    )
    mail_from: str = Field(
        default="",
        max_length=254,
        validate_default=True,
        alias="HUSHGATE_MAIL_FROM",
        description="Sender of mail, such as hushgate@example.org; needed with HUSHGATE_SMTP_URL.",
    )

    @field_validator("smtp_url")
    @classmethod
    def _is_smtp(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url.get_secret_value())
            usable = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:  # the URL is a secret
            raise ValueError("expected smtp://host:587 or smtps://user:password@host:465")
        return url

    @field_validator("mail_from")
    @classmethod
    def _server_has_a_sender(cls, sender: str, info: ValidationInfo) -> str:
        if info.data.get("smtp_url") is not None and not is_mail_address(sender):
            raise ValueError("expected the sender's address, as HUSHGATE_SMTP_URL is set")
        return sender


def is_mail_address(text: str) -> bool:
    """Whether a text can be the address of a mail: one ``@``, no blanks, nothing that ends a header."""
    local, at, domain = text.rpartition("@")
    plain = text.isascii() and text.isprintable() and not set(text) & set(' <>,;:"()[]\\')
    return bool(at and local and domain and plain and "@" not in local and len(text) <= 254)


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
