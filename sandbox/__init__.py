"""An OpenAI-compatible server on loopback with faults on demand. It is no model."""
