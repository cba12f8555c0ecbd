"""Secrets in the words of a server."""

from __future__ import annotations

import pytest

from worker.adapters.secret_mask import MASK, SecretMask

KEY = "sk-live/Ab12+Cd34=Ef56"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"Bearer {KEY} is unknown", f"Bearer {MASK} is unknown"),
        ("wrong key sk-live/Ab1*****Ef56", f"wrong key {MASK}*****Ef56"),
        ("ends with +Cd34=Ef56", f"ends with {MASK}"),
        ("/v1?key=sk-live%2FAb12%2BCd34%3DEf56", f"/v1?key={MASK}"),
        ("sk-live is the form of a key", "sk-live is the form of a key"),
        (f"{KEY}{KEY}", MASK * 2),
    ],
)
def test_a_secret_is_masked_whole_in_runs_and_in_a_url(said: str, shown: str) -> None:
    """Seven characters of it in a row are not a run."""
    assert SecretMask(KEY).text(said) == shown


def test_every_text_of_a_json_value_is_masked() -> None:
    """Keys, lists and nested objects; numbers stay."""
    value = {"error": {"headers": [f"Authorization: {KEY}"], KEY: 1, "code": 401}, "ok": None}

    assert SecretMask(KEY).json(value) == {
        "error": {"headers": [f"Authorization: {MASK}"], MASK: 1, "code": 401},
        "ok": None,
    }


def test_short_secrets_leave_words_alone() -> None:
    """A placeholder of a server without a key is no secret."""
    assert SecretMask("none", "").text("none of these") == "none of these"


def test_an_answer_of_success_is_without_whole_secrets() -> None:
    """Its other bytes are as they came."""
    mask = SecretMask("sk-abcdefghijklmnop")

    assert (
        mask.answer(b'{"text": "sk-abcdefghijklmnop \xf0\x9f\x98\x80"}')
        == b'{"text": "******** \xf0\x9f\x98\x80"}'
    )
    assert mask.answer(b"{}") == b"{}"
    assert SecretMask("sandbox").answer(b'{"model": "sandbox-7b"}') == b'{"model": "sandbox-7b"}'
