"""Lexical signals of a draft and the confidence they give; no model is called."""
