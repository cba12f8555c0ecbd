"""Whether a draft answers what was asked: a group of signals beside support; no model is called."""
