"""What an operator puts right: dead letters published again, and breaches of conservation."""
