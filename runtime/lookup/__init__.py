"""Lookups from ids to rows (plain, pooled, grouped, partitioned), and their gradients."""

from runtime.lookup import exported as _exported  # noqa: F401 - importing it lets exports read rows
