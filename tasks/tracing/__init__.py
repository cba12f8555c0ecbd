"""Traces of decisions, where the deployment asks for them."""
