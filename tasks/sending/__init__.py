"""Outgoing streams: replies, retractions and escalations, each entry once."""
