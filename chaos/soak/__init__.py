"""Hours of steady load with faults: what grows while the fleet runs."""
