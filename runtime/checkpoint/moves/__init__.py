"""Checkpoints of variables become checkpoints of tables, and back."""
