"""Checkpoints of the original model, moved to the tables of the converted one."""
