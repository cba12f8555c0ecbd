"""Labelled replies: read, scored against policies, fitted to coefficients."""
