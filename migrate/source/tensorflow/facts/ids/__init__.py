"""Where the ids of lookups come from, and the sessions and datasets that feed them."""
