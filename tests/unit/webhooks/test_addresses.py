"""URLs and addresses that webhooks may be sent to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from worker.webhooks.addresses import AddressRefused, check_address, parse_url

PUBLIC = ("93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")
LOOPBACK = ("127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "2002:7f00:1::1")
REFUSED = (
    *LOOPBACK,
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "168.63.129.16",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::7f00:1",
    "fd00:ec2::254",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "2001:db8::1",
    "2001::1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:a9fe:a9fe::1",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_allowed(address: str) -> None:
    """IPv4, IPv6, and wrapped IPv4."""
    check_address(ip_address(address), loopback=False)


@pytest.mark.parametrize("address", REFUSED)
def test_every_other_address_is_refused(address: str) -> None:
    """Private, link-local, loopback, metadata, shared, multicast, reserved, and each of them wrapped."""
    with pytest.raises(AddressRefused, match="public internet"):
        check_address(ip_address(address), loopback=False)


@pytest.mark.parametrize("address", REFUSED)
def test_the_setting_allows_loopback_alone(address: str) -> None:
    """For tests and development: this machine, no network beside it."""
    if address in LOOPBACK:
        check_address(ip_address(address), loopback=True)
        return
    with pytest.raises(AddressRefused):
        check_address(ip_address(address), loopback=True)


@pytest.mark.parametrize(
    "url", ["https://example.com", "https://example.com:8443/hook?x=1", "https://[2606:4700::1111]/"]
)
def test_https_urls_are_accepted(url: str) -> None:
    """With a port, a query, and an address instead of a name."""
    assert parse_url(url, loopback=False).hostname


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "http://example.com",
        "ftp://example.com",
        "https://",
        "https:///x",
        "https://a@example.com",
        "https://a:b@example.com",
        "https://example.com/#part",
        "https://example.com:0/",
        "https://localhost/",
        "https://LocalHost./",
        "https://shop.localhost/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://example.com:99999/",
        "https://[::1",
        "https://127.0.0.1/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://exa mple.com",
        "https://example.com\\@evil.example",
        "https://example.com/\r\nx",
        "https://b\u00fccher.example",
        "https://example.com/" + "x" * 2000,
    ],
)
def test_every_other_url_is_refused(url: str) -> None:
    """No other scheme, no credentials, no forbidden address, no line breaks."""
    with pytest.raises(AddressRefused):
        parse_url(url, loopback=False)


def test_http_needs_the_setting_and_this_machine() -> None:
    """Another host has https always."""
    assert parse_url("http://127.0.0.1:80/", loopback=True).port == 80
    assert parse_url("http://localhost/", loopback=True).hostname == "localhost"
    for url, loopback in (("http://127.0.0.1/", False), ("http://example.com/", True)):
        with pytest.raises(AddressRefused):
            parse_url(url, loopback=loopback)
