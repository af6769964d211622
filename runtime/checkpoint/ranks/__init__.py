"""Checkpoints that several ranks write and any number of ranks reads; runtime.ranks.checkpoint has their names."""
