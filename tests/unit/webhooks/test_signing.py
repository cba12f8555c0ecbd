"""Signatures and secrets, checked against the published library and its vector."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from worker.webhooks.signing import decode_secret, encode_secret, message_id, secret_hint, signed_headers

VECTOR_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR_AT = datetime.fromtimestamp(1614265330, tz=UTC)
OLD, NEW = encode_secret(b"o" * 24), encode_secret(b"n" * 64)


def test_the_published_vector_is_reproduced() -> None:
    """Id, timestamp and body of the libraries' test give their signature."""
    headers = signed_headers(
        b'{"test": 2432232314}',
        identifier="msg_p5jXN8AQM9LWM0D4loKWxJek",
        secrets=[VECTOR_SECRET],
        now=VECTOR_AT,
    )

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(body=st.text(), key=st.binary(min_size=24, max_size=64))
def test_the_library_verifies_every_body(body: str, key: bytes) -> None:
    """Any body and any secret of a legal length."""
    secret = encode_secret(key)
    data = body.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    headers = signed_headers(data, identifier="msg_1", secrets=[secret], now=datetime.now(UTC))

    Webhook(secret).verify(data, headers, json_parse=False)


def test_both_secrets_verify_during_a_rotation() -> None:
    """The header has a signature for each; another secret or a changed body verifies with none."""
    now = datetime.now(UTC)
    headers = signed_headers(b"{}", identifier="msg_1", secrets=[NEW, OLD], now=now)
    for secret in (OLD, NEW):
        assert Webhook(secret).verify(b"{}", headers) == {}

    with pytest.raises(WebhookVerificationError):
        Webhook(VECTOR_SECRET).verify(b"{}", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(NEW).verify(b"[]", headers)


def test_an_old_request_does_not_verify() -> None:
    """The timestamp is the attempt's, so that a repeated old request is recognised."""
    earlier = datetime.now(UTC) - timedelta(minutes=6)
    headers = signed_headers(b"{}", identifier="msg_1", secrets=[NEW], now=earlier)
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(NEW).verify(b"{}", headers)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "whsec_",
        "whsec_!!!",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        OLD.removeprefix("whsec_"),
    ],
)
def test_a_text_that_is_no_secret_is_refused_without_a_quote(text: str) -> None:
    """The message says what was expected, and never what was given."""
    with pytest.raises(ValueError, match="secret: expected") as refused:
        decode_secret(text)

    assert not text.removeprefix("whsec_") or text.removeprefix("whsec_") not in str(refused.value)


@pytest.mark.parametrize("length", [0, 23, 65])
def test_a_key_of_another_length_makes_no_secret(length: int) -> None:
    """24 to 64 bytes, by the specification."""
    with pytest.raises(ValueError, match="24 to 64"):
        encode_secret(b"x" * length)


def test_a_secret_is_shown_by_its_first_characters() -> None:
    """Enough to recognise it, too few to guess it."""
    assert secret_hint(VECTOR_SECRET) == "whsec_MfKQ…"


def test_the_id_of_an_event_depends_on_account_type_and_key() -> None:
    """The same for every attempt and endpoint; no two events share one."""
    ids = {message_id(account, kind, key) for account in "ab" for kind in "xy" for key in ("1", "2")}

    assert len(ids) == 8
    assert message_id("a", "x", "1") in ids
    assert all("." not in each for each in ids)  # the signed content separates its parts by points
