"""The variables of mail."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, field_validator

from worker.settings.environment import Environment

SCHEMES = frozenset({"smtp", "smtps"})


class MailSettings(Environment):
    """The server that sends mail, and the sender."""

    smtp_url: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_SMTP_URL",
        description="Mail server for digests and their sender: smtps://user:password@host:465?from=me@example.org,"
        " or smtp://host:587?from=..., then with STARTTLS, which only a server on this machine may lack."
        " Without it digests go to webhooks only.",
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
            raise ValueError("expected smtp://host:587?from=... or smtps://user:password@host:465?from=...")
        if not is_mail_address(_sender(url)):
            raise ValueError("expected ?from= and the sender's address at the end of the URL")
        return url

    @property
    def mail_from(self) -> str:
        """The sender of mail; empty without a server."""
        return _sender(self.smtp_url) if self.smtp_url is not None else ""


def _sender(url: SecretStr) -> str:
    return unquote(urlsplit(url.get_secret_value()).query.removeprefix("from="))


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
