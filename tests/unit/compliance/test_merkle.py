"""The audit log's tree of RFC 6962 and its signed roots as C2SP writes them."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.audit_log.checkpoints import (
    Checkpoint,
    CheckpointRejected,
    read_checkpoint,
    signer_in,
    signer_of,
)
from compliance.audit_log.merkle import (
    Subtree,
    completed,
    leaf_hash,
    node_hash,
    proof,
    root_hash,
    root_of,
    siblings,
    stored_parts,
)
from compliance.erasure.receipt_commands import receipt_keys
from compliance.erasure.receipts import public_key
from examples.verify_audit_log import proven_root
from worker.errors import ConfigurationError

VECTORS = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
"""Of google/certificate-transparency's merkle tree tests: inputs and roots over the first n of them."""


def defined_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962 section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(defined_root(leaves[:split]), defined_root(leaves[split:]))


def stored(leaves: list[bytes], step: int = 100) -> dict[Subtree, bytes]:
    """What a log stores whose leaves were appended in steps."""
    hashes: dict[Subtree, bytes] = {}
    for size in range(0, len(leaves), step):
        added = leaves[size : size + step]
        hashes |= {Subtree(0, size + at): leaf for at, leaf in enumerate(added)}
        for node, below in completed(size, len(added)):
            hashes[node] = defined_root([hashes[each] for each in below])
    return hashes


def numbered(size: int) -> list[bytes]:
    """Different leaves."""
    return [leaf_hash(str(number).encode()) for number in range(size)]


@pytest.mark.parametrize(("size", "root"), ROOTS.items())
def test_the_published_vectors(size: int, root: str) -> None:
    """The roots that other implementations have."""
    leaves = [leaf_hash(bytes.fromhex(each)) for each in VECTORS[:size]]

    assert root_hash(size, stored(leaves)).hex() == root


@settings(max_examples=60, deadline=None)
@given(size=st.integers(0, 700), step=st.integers(1, 300))
def test_stored_subtrees_give_the_root_of_the_definition(size: int, step: int) -> None:
    """However many leaves came at once."""
    leaves = numbered(size)

    assert root_hash(size, stored(leaves, step)) == defined_root(leaves)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_proof_leads_to_the_root_and_only_from_its_leaf(data: st.DataObject) -> None:
    """The verifier of the examples agrees; another leaf or a changed path leads elsewhere."""
    size = data.draw(st.integers(1, 700))
    position = data.draw(st.integers(0, size - 1))
    leaves = numbered(size)
    hashes, root = stored(leaves), defined_root(leaves)
    needed = {part for start, end in siblings(position, size) for part in stored_parts(start, end)}

    path = list(proof(position, size, {part: hashes[part] for part in needed}))

    assert proven_root(leaves[position], position, size, path) == root
    assert proven_root(leaf_hash(b"other"), position, size, path) != root
    if path:
        assert proven_root(leaves[position], position, size, [b"\0" * 32, *path[1:]]) != root
        with pytest.raises(ValueError, match="shorter"):
            proven_root(leaves[position], position, size, path[:-1])


@pytest.mark.parametrize(
    ("leaf", "position", "size", "length"),
    [(4, 1, 5, 1), (1, 1, 5, 2), (1, 1, 5, 4), (4, 5, 5, 1), (0, -1, 1, 0), (0, 0, 2, 0)],
)
def test_a_proof_of_another_length_than_its_position_needs_is_refused(
    leaf: int, position: int, size: int, length: int
) -> None:
    """The path of leaf 4 of 5 would else prove that the leaf stands at position 1."""
    leaves = numbered(5)
    path = [*proof(leaf, 5, stored(leaves)), leaves[0]][:length]

    with pytest.raises(ValueError, match="proof"):
        proven_root(leaves[leaf], position, size, path)


def test_at_most_255_hashes_of_each_height_are_read() -> None:
    """Of 20 million leaves the root needs fewer than a thousand stored hashes."""
    parts = list(stored_parts(0, 20_000_123))

    assert sum(1 << part.height for part in parts) == 20_000_123
    assert len(parts) <= 4 * 255
    assert {part.height for part in parts} == {0, 8, 16, 24}


def test_a_position_outside_the_tree_is_refused() -> None:
    """The error says what was expected."""
    with pytest.raises(ValueError, match="position: expected 0 to 4, got 5"):
        siblings(5, 5)


def test_neighbours_of_equal_height_merge() -> None:
    """Two leaves are a node."""
    left, right = numbered(2)

    assert root_of([(0, left), (0, right)]) == node_hash(left, right)


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


def test_receipts_are_compared_with_the_signing_key_where_no_other_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shell with the exports of `hushgate up` has that key only."""
    signing, other = b"s" * 32, b"o" * 32
    monkeypatch.setenv("DATABASE_URL", "postgresql://localhost/none")
    monkeypatch.setenv("HUSHGATE_SIGNING_KEY", base64.b64encode(signing).decode())
    own = receipt_keys(())
    monkeypatch.setenv("HUSHGATE_RECEIPT_VERIFIERS", base64.b64encode(other).decode())

    assert own == (public_key(signing),)
    assert receipt_keys(()) == (other,)
