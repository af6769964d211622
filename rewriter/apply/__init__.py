"""Applies a plan to a live graph and can undo it: edges, branches, partitions, Savers and inlined functions."""
