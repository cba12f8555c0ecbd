"""Optional features: the one interface by which a folder outside the core adds to the product."""
