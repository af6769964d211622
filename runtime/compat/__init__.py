"""Façades: names of other SDKs over the same engine."""
