"""Commands on what an account owns: its settings, rules and documents."""
