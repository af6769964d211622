"""Lookups from ids to rows (plain, pooled, grouped, partitioned), and their gradients."""
