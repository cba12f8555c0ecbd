"""Which URLs and IP addresses a webhook may be sent to: https, and addresses of the public internet only."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from worker.webhooks.types import URL_CHARS

Address: TypeAlias = IPv4Address | IPv6Address
REFUSED_NETWORKS: Final = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # shared by customers of one provider (CGNAT)
        "168.63.129.16/32",  # the host of an Azure machine
        "169.254.0.0/16",  # link-local: metadata of cloud machines
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "::/96",  # IPv4-compatible, obsolete
        "64:ff9b:1::/48",  # local NAT64
        "100::/64",
        "2001::/23",  # Teredo and other special uses
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",  # private; fd00:ec2::254 is metadata
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
"""Beside what ``ipaddress`` knows as not global; written out, because older Python versions know fewer."""
NAT64: Final = ip_network("64:ff9b::/96")
FOR_DEVELOPMENT: Final = "for development HUSHGATE_WEBHOOK_LOOPBACK=true allows it, here and in the workers"


class AddressRefused(ValueError):
    """A URL or an address that no webhook may be sent to; the message says why."""


def parse_url(text: str, *, loopback: bool) -> SplitResult:
    """The parts of an endpoint's URL; with ``loopback`` also http, and addresses of this machine.

    Raises:
        AddressRefused: the URL cannot be used; the message names what was expected.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressRefused("url: expected https://host/path, got no URL") from None
    if len(text) > URL_CHARS or not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise AddressRefused(f"url: expected at most {URL_CHARS} ASCII characters without spaces")
    if parts.scheme not in {"https", "http"} or not host or port == 0:
        raise AddressRefused("url: expected https://host/path")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise AddressRefused("url: expected no user name, password or fragment")
    literal = literal_address(host)
    local = _is_local_name(host) if literal is None else plain_address(literal).is_loopback
    if local and not loopback:
        raise AddressRefused(f"address: expected one of the public internet, got {host}; {FOR_DEVELOPMENT}")
    if parts.scheme == "http" and not local:
        raise AddressRefused("url: expected https, got http")
    if literal is not None:
        check_address(literal, loopback=loopback)
    elif _is_number(host):
        raise AddressRefused(f"address: expected one of the public internet, got {host}")
    return parts


def origin_of(url: str) -> str:
    """Scheme, host and port of a stored URL: path and query may contain a secret of the receiver."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _is_local_name(host: str) -> bool:
    """Whether a name always means this machine (RFC 6761)."""
    return host.rstrip(".").rpartition(".")[2] == "localhost"


def _is_number(host: str) -> bool:
    """Whether resolvers read a host as an IPv4 address in another form, such as 127.1 or 0x7f000001."""
    last = host.rstrip(".").rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def literal_address(host: str) -> Address | None:
    """The address that a host is; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def check_address(address: Address, *, loopback: bool) -> None:
    """Refuse every address outside the public internet.

    Raises:
        AddressRefused: private, link-local, loopback, metadata, shared, multicast or reserved.
    """
    plain = plain_address(address)
    if loopback and plain.is_loopback:
        return
    if (
        not plain.is_global
        or plain.is_multicast
        or plain.is_reserved
        or any(plain in network for network in REFUSED_NETWORKS if network.version == plain.version)
    ):
        raise AddressRefused(f"address: expected one of the public internet, got {address}")


def plain_address(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address that only wraps it, and without a zone."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if IPv6Address(int(address)) in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return IPv6Address(int(address))
