"""Verify an export or a proof of Hushgate's transparency log; needs the package cryptography.

    python verify_audit_log.py log.ndjson VERIFIER_KEY     (from `hushgate audit-log export`)
    python verify_audit_log.py proof.json VERIFIER_KEY     (from `hushgate audit-log prove`)

VERIFIER_KEY is the operator's public name+id+key. Exit 1: something does not fit.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(*parts: bytes) -> bytes:
    """SHA-256 of the parts, one after the other."""
    return hashlib.sha256(b"".join(parts)).digest()


def signed_root(text: str, verifier_key: str) -> tuple[int, bytes]:
    """Size and root of a C2SP checkpoint; an error without a signature of the key."""
    if verifier_key.count("+") < 2:
        raise ValueError("VERIFIER_KEY: expected name+id+key, as `hushgate audit-log key` prints it")
    name, _, key = verifier_key.split("+", 2)
    public = base64.b64decode(key)[1:]  # the first byte names Ed25519
    body, _, signatures = text.partition("\n\n")
    for line in signatures.splitlines():
        if line.startswith(f"— {name} "):
            signature = base64.b64decode(line.rsplit(" ", 1)[1])[4:]  # after the key's id
            Ed25519PublicKey.from_public_bytes(public).verify(signature, f"{body}\n".encode())
            _, size, root = body.split("\n")[:3]
            return int(size), base64.b64decode(root)
    raise ValueError("the checkpoint has no valid signature of this key")


def leaf_of(line: dict[str, Any]) -> bytes:
    """The leaf's hash; ValueError when its row is there and does not fit. Erased texts have no salt."""
    stored, erasable = bytes.fromhex(line["hash"]), line.get("erasable_hash")
    if "kept" in line:
        kept = sha256(bytes.fromhex(line["kept_salt"]), line["kept"].encode()).hex()
        if "erasable" in line:
            erasable = sha256(bytes.fromhex(line["salt"]), line["erasable"].encode()).hex()
        words = (f"hushgate {line['kind']} 1", line["id"], line["at"], line["due_from"], kept, erasable)
        if sha256(b"\x00", "".join(f"{word}\n" for word in words).encode()) != stored:
            raise ValueError(f"position {line['position']}: the row does not fit its hash")
    return stored


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of RFC 6962 over all leaves."""
    stack: list[tuple[int, bytes]] = []
    for leaf in leaves:
        height, digest = 0, leaf
        while stack and stack[-1][0] == height:
            height, digest = height + 1, sha256(b"\x01", stack.pop()[1], digest)
        stack.append((height, digest))
    root = stack.pop()[1] if stack else sha256()
    while stack:
        root = sha256(b"\x01", stack.pop()[1], root)
    return root


def proven_root(leaf: bytes, position: int, size: int, path: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to, RFC 9162 section 2.1.3.2."""
    if not 0 <= position < size:
        raise ValueError(f"the proof is of position {position} in a log of {size} leaves")
    digest, at, last = leaf, position, size - 1
    for sibling in path:
        if last == 0:
            raise ValueError(f"the proof is longer than position {position} needs")
        if at % 2 or at == last:
            digest = sha256(b"\x01", sibling, digest)
            while at % 2 == 0 and at:
                at, last = at >> 1, last >> 1
        else:
            digest = sha256(b"\x01", digest, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise ValueError(f"the proof is shorter than position {position} needs")
    return digest


def main(name: str, verifier_key: str) -> str:
    """What was verified; ValueError when something does not fit."""
    lines = [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
    size, root = signed_root(lines[0]["checkpoint"], verifier_key)
    if "proof" in lines[0]:
        path = [bytes.fromhex(each) for each in lines[0]["proof"]]
        found = proven_root(leaf_of(lines[0]), lines[0]["position"], size, path)
    else:
        if [line["position"] for line in lines[1:]] != list(range(size)):
            raise ValueError(f"expected the leaves 0 to {size - 1}, got {len(lines) - 1}")
        found = root_of(leaf_of(line) for line in lines[1:])
    if found != root:
        raise ValueError("the leaves do not lead to the signed root")
    return f"{sum('kept' in line for line in lines)} rows verified in a log of {size} leaves"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.stdout.write(main(*sys.argv[1:]) + "\n")
    except (ValueError, TypeError, KeyError, InvalidSignature) as error:
        sys.exit(f"not verified: {error or 'wrong signature'}")
