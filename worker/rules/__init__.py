"""Keyword and phrase rules: pure tests of a text, before any model."""
