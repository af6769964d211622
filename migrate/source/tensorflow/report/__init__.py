"""Findings, records of tables, and what `migrate explain` prints."""
