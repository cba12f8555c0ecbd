"""Fuzzing of what reads foreign bytes: ``make fuzz`` with coverage, ``tests/unit/fuzz`` without."""
