"""What must hold, judged from what was published and seen."""
