"""Tables on the parameter servers of a cluster: where they lie, their shards, and lookups there."""
