"""Signed roots as C2SP writes them."""

from __future__ import annotations

import base64

import pytest

from compliance.audit_log.checkpoints import (
    Checkpoint,
    CheckpointRejected,
    read_checkpoint,
    signer_in,
    signer_of,
)
from worker.errors import ConfigurationError

KEY = base64.b64encode(bytes(range(32))).decode()
ANOTHER = base64.b64encode(bytes(range(1, 33))).decode()
SIGNER = signer_of("example.org/log", KEY)
CHECKPOINT = Checkpoint(origin="example.org/log", size=7, root=b"\x05" * 32)
TEXT = SIGNER.sign(CHECKPOINT)


def test_the_text_has_the_published_form() -> None:
    """Origin, size, root, an empty line, then the signature line with an em dash."""
    lines = TEXT.split("\n")

    assert lines[:4] == ["example.org/log", "7", base64.b64encode(b"\x05" * 32).decode(), ""]
    assert lines[4].startswith("— example.org/log ")
    assert len(base64.b64decode(lines[4].rsplit(" ", 1)[1])) == 4 + 64
    assert TEXT.endswith("\n")
    name, key_id, packed = SIGNER.verifier_key().split("+", 2)
    assert (name, len(key_id), base64.b64decode(packed)[:1]) == ("example.org/log", 8, b"\x01")


def test_a_signed_checkpoint_is_read_again() -> None:
    """With the key that others have."""
    assert read_checkpoint(TEXT, SIGNER.verifier_key()) == CHECKPOINT


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (TEXT.replace("\n7\n", "\n8\n"), SIGNER.verifier_key()),
        (TEXT, signer_of("example.org/log", ANOTHER).verifier_key()),
        (TEXT, signer_of("another", KEY).verifier_key()),
        (TEXT.split("— ")[0], SIGNER.verifier_key()),
        ("", SIGNER.verifier_key()),
        ("log\nmany\nroot\n\n", SIGNER.verifier_key()),
        (TEXT, "no key"),
        (TEXT, "a+b+c"),
        (TEXT.replace("— example.org/log ", "— example.org/log @"), SIGNER.verifier_key()),
    ],
)
def test_anything_else_is_refused(text: str, key: str) -> None:
    """A changed size, another key, another name, no signature, no text."""
    with pytest.raises(CheckpointRejected):
        read_checkpoint(text, key)


def test_the_setting_has_the_name_of_the_log_and_the_key() -> None:
    """A key may have plus signs too; a name has none."""
    signer = signer_in(f"example.org/log+{KEY}")

    assert (signer.name, signer.verifier_key()) == ("example.org/log", SIGNER.verifier_key())


@pytest.mark.parametrize("setting", ["", "log", "+", "log+", f"+{'x' * 44}", "a log+x"])
def test_a_setting_without_name_or_key_is_refused(setting: str) -> None:
    """The message says how to make one, and never quotes the value."""
    with pytest.raises(ConfigurationError, match=r"HUSHGATE_AUDIT_LOG_KEY: expected name\+key"):
        signer_in(setting)


@pytest.mark.parametrize("key", ["", "short", base64.b64encode(b"x" * 31).decode(), "ä" * 44])
def test_a_wrong_private_key_is_named(key: str) -> None:
    """The setting, and what it should be; never the value."""
    with pytest.raises(ConfigurationError, match="HUSHGATE_AUDIT_LOG_KEY: expected 32 bytes in base64"):
        signer_of("log", key)
