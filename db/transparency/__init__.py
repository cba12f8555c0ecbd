"""The transparency log: hashes of decisions and reviews in a Merkle tree whose root is signed."""
