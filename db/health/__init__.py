"""Whether the database is well: conservation, fitness, a probe, and its clock."""
