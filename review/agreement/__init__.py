"""Agreement of people with rules, reasons and each other."""
