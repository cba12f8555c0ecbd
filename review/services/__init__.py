"""Services that the pages call: the identity provider, and models and events of the first run."""
