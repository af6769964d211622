"""Which entries of a batch are ids, and of which table: `FeatureSpec` and what marks them."""
