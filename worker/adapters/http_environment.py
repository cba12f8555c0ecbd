"""What the machine and the environment say about HTTP: certificates, headers and proxies."""

from __future__ import annotations

import os
import re
import ssl
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

from worker.adapters.api_errors import ProxyUnusable
from worker.adapters.secret_mask import LONG_CHARS

CERTIFICATES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
"""Where systems keep the certificates that they trust, for a Python whose own path does not exist."""

LOOPBACK: Final = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificates that this machine trusts; one object for all clients: each takes 0.1 s and 1 MB."""
    paths = ssl.get_default_verify_paths()
    known = None if paths.cafile or paths.capath else next(filter(os.path.isfile, CERTIFICATES), None)
    return ssl.create_default_context(cafile=known)


def environment_headers() -> dict[str, str]:
    """Headers that the SDK of OpenAI takes from the environment: organisation, project and further ones."""
    account = {
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID"),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID"),
    }
    return {name: value for name, value in account.items() if value} | _further_headers()


def further_secrets(url: str) -> tuple[str, ...]:
    """What may be a secret beside the key: long words of further headers, and what an address holds."""
    parts = urlsplit(url)
    words = [word for value in _further_headers().values() for word in value.split()]
    words += [value for name, value in parse_qsl(parts.query) if name.lower() != "api-version"]
    return tuple(word for word in (*words, parts.password or "") if len(word) >= LONG_CHARS)


def _further_headers() -> dict[str, str]:
    lines = (each.partition(":") for each in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


def environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address, as ``HTTPS_PROXY`` and ``NO_PROXY`` say.

    None for loopback, as in Go: the sandbox and model servers of this machine are behind no proxy.

    Raises:
        ProxyUnusable: it is no HTTP proxy; aiohttp would speak HTTP to a SOCKS proxy.
    """
    parts = urlsplit(url)
    if not parts.hostname or LOOPBACK.fullmatch(parts.hostname) or proxy_bypass(parts.hostname):
        return None
    found = getproxies()
    kind = parts.scheme if found.get(parts.scheme) else "all"
    if not (named := found.get(kind)):
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")  # as curl reads it
    if proxy.scheme not in {"http", "https"} or not proxy.hostname:
        address = proxy.netloc.rpartition("@")[2]  # without its password
        raise ProxyUnusable(
            f"{_variable(kind)}: expected http://HOST:PORT of an HTTP proxy, got {proxy.scheme}://{address};"
            f" NO_PROXY={parts.hostname} calls the server directly"
        )
    return proxy.geturl()


def _variable(kind: str) -> str:
    """The variable that names the proxy of a scheme; small letters count first, as for curl."""
    name = f"{kind}_proxy"
    return name if name in os.environ else name.upper()
