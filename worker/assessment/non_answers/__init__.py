"""Recognises a draft that only says that it has no answer, in nine languages."""
