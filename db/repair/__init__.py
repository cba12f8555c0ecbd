"""Breaches of conservation: what is stored and should not be, or is missing, and how it is put right."""
