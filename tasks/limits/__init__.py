"""Breakers, limits and budgets of the fleet."""
