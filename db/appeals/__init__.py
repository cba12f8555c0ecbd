"""Appeals of authors against decisions: their intake, their outcome, and the event that reports it."""
