"""How far a draft can be trusted: one module, policies are data."""
