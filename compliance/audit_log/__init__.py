"""The signed Merkle log over decisions and reviews: append, verify, prove, export."""
