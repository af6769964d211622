"""One parsed file: its nodes, scopes and blocks; independent of frameworks."""
