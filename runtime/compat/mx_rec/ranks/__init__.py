"""Which rank this is, collectives between ranks, variables that begin alike."""
