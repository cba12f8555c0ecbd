"""The variables of the review pages."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from worker.moderation import CATEGORIES
from worker.settings.breached_passwords import BreachedPasswords
from worker.settings.environment import Environment, HttpUrl
from worker.settings.metrics import MetricsSettings
from worker.settings.model_servers import DocumentSettings
from worker.settings.moderation import ModerationSettings
from worker.settings.webhooks import WebhookSettings

REQUIRED_COVERS: Final = "required"


class SecondFactorDemand(StrEnum):
    """Who must set up a second factor."""

    CHOICE = "choice"
    ADMINISTRATORS = "administrators"
    EVERYONE = "everyone"


class SiteSettings(Environment):
    """Settings of a command that writes links to the review pages."""

    review_url: HttpUrl = "http://127.0.0.1:8085"
    """URL at which people reach the review pages; https for other machines. Workers put links to it into
    escalations only where it is set."""


class ReviewSettings(SiteSettings, DocumentSettings, ModerationSettings, WebhookSettings, MetricsSettings):
    """Settings of the review pages."""

    review_proxies: str = ""
    """Addresses and networks of proxies whose X-Forwarded-For and -Proto are trusted."""
    oidc_issuer: HttpUrl | None = Field(default=None, alias="HUSHGATE_REVIEW_OIDC_ISSUER")
    """OpenID Connect issuer for sign-in, exactly as it names itself; https."""
    oidc_client_id: str = Field(default="", validate_default=True, alias="HUSHGATE_REVIEW_OIDC_CLIENT_ID")
    """Our client id at the issuer; its redirect URL is HUSHGATE_REVIEW_URL/sign-in/oidc/back."""
    oidc_client_secret: SecretStr | None = Field(default=None, alias="HUSHGATE_REVIEW_OIDC_CLIENT_SECRET")
    """Our client secret at the issuer."""
    passwords_enabled: bool = Field(default=True, alias="HUSHGATE_REVIEW_PASSWORDS")
    """False: people sign in by OpenID Connect or by a link from the command line."""

    appeal_secret: SecretStr | None = Field(default=None, min_length=32)
    """Secret that signs links for appeals, at least 32 characters, the same on every review server; without
    it there are no links. Another secret ends all links."""
    second_factor: SecondFactorDemand = Field(
        default=SecondFactorDemand.CHOICE, alias="HUSHGATE_REVIEW_SECOND_FACTOR"
    )
    """Who must set up a second factor beside their password: choice, administrators or everyone. The identity
    provider asks its own people."""
    breached_passwords: Path | None = Field(default=None, alias="HUSHGATE_REVIEW_BREACHED_PASSWORDS")
    """File of SHA-1 hashes in hexadecimal, sorted, one a line, a count after a colon allowed: new passwords
    in it are refused."""

    covers: str = Field(default="", alias="HUSHGATE_REVIEW_COVERS")
    """Categories whose texts are covered for everyone who chose none, such as
    self-harm,sexual/minors,flagged_rule; flagged_rule: stopped by a rule of the account; required: people may
    cover more categories than these, but not fewer."""

    @property
    def covers_required(self) -> bool:
        """Whether people may not cover fewer categories."""
        return REQUIRED_COVERS in self._covers

    @property
    def organisation_covers(self) -> tuple[str, ...]:
        """The categories of HUSHGATE_REVIEW_COVERS."""
        return tuple(each for each in self._covers if each != REQUIRED_COVERS)

    @property
    def _covers(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in self.covers.split(",") if each.strip())

    @property
    def oidc_name(self) -> str:
        """The name of the provider on the sign-in page: its host."""
        return urlsplit(self.oidc_issuer or "").hostname or ""

    @field_validator("covers")
    @classmethod
    def _covers_are_categories(cls, covers: str) -> str:
        known = (*CATEGORIES, "flagged_rule", REQUIRED_COVERS)
        for each in covers.split(",") if covers.strip() else ():
            if each.strip() not in known:
                raise ValueError(f"expected categories out of {', '.join(known)}")
        return covers

    @field_validator("breached_passwords")
    @classmethod
    def _list_is_sorted_hashes(cls, path: Path | None) -> Path | None:
        if path is not None and (problem := BreachedPasswords(path).problem()):
            raise ValueError(problem)
        return path

    @field_validator("review_proxies")
    @classmethod
    def _proxies_are_addresses(cls, proxies: str) -> str:
        for each in proxies.split(",") if proxies.strip() else ():  # a trusted proxy may name any client
            try:
                every_address = ip_network(each.strip()).prefixlen == 0
            except ValueError:
                every_address = True
            if every_address:
                raise ValueError("expected addresses or networks of proxies, such as 10.0.0.5,10.1.0.0/24")
        return proxies

    @field_validator("oidc_client_id")
    @classmethod
    def _issuer_has_a_client(cls, client_id: str, info: ValidationInfo) -> str:
        if info.data.get("oidc_issuer") is not None and not client_id:
            raise ValueError("expected the client id at HUSHGATE_REVIEW_OIDC_ISSUER")
        return client_id

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer_is_safe(cls, issuer: str | None) -> str | None:
        parts = urlsplit(issuer or "https://")
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError("expected https")
        return issuer
