"""Recordings of decisions, and deciding again from them."""
