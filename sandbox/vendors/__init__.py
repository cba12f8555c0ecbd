"""The forms and faults of real vendors, one file a vendor: ``python -m sandbox --as NAME``."""
