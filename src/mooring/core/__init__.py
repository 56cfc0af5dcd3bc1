"""Decisions: pure functions over the model. Nothing here knows the time, the system or the network."""
