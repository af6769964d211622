"""Other SDKs' names over the same engine."""
