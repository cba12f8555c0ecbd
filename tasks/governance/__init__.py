"""Retention and erasure: sweeps in steps, and jobs that erase."""
