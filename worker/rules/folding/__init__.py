"""From a text to candidates: its folded readings and the places where a rule may stand."""
