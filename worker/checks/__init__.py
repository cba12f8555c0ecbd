"""Pure tests of a draft, after the model."""
