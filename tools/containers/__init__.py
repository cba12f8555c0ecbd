"""Builds the images, runs the demo in them without a network, and breaks a Compose deployment of them."""
