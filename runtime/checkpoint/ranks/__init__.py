"""Checkpoints of several ranks, for any number of ranks to read; public under the names of runtime.ranks.checkpoint."""
