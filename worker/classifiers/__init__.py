"""Classifiers of texts behind chat endpoints: what they are asked, and how their answers are read."""
