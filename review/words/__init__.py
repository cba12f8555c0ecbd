"""Codes, states and numbers of the product in the reader's words: one module a topic."""
