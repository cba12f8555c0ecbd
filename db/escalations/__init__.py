"""Escalations: decisions that people must answer, from opening to closing."""
