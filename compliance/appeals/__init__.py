"""Appeals of authors against decisions: intake, outcome, pages, and the event that reports the outcome."""
