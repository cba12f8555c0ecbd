"""The JSON face of the same lists."""
