"""Which keys get a row, and which lose it: admission and eviction."""
