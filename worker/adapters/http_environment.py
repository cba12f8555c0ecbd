"""What the machine and the environment say about HTTP: certificates, headers and proxies."""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

CERTIFICATES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
"""Where systems keep the certificates that they trust, for a Python whose own path does not exist."""


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates that this machine trusts; one object for all clients: each takes 0.1 s and 1 MB."""
    paths = ssl.get_default_verify_paths()
    known = None if paths.cafile or paths.capath else next(filter(os.path.isfile, CERTIFICATES), None)
    return ssl.create_default_context(cafile=known)


def environment_headers() -> dict[str, str]:
    """Headers that the SDK of OpenAI takes from the environment: organisation, project and further ones."""
    lines = (each.partition(":") for each in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"))
    further = {name.strip(): value.strip() for name, colon, value in lines if colon}
    account = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    return {name: value for name, value in account.items() if value} | further


def environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address, as ``HTTPS_PROXY`` and ``NO_PROXY`` say."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"  # as curl reads it
