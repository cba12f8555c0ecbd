"""Fuzzing of parsers of untrusted input: ``make fuzz`` with coverage, ``tests/unit/fuzz`` without."""
