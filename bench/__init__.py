"""Benchmarks and long fuzz runs; none of it is imported by the product or its tests."""
