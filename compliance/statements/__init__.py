"""Statements of reasons for the DSA Transparency Database."""
