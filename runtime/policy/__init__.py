"""Admission and eviction: which keys get a row, and which lose it."""
