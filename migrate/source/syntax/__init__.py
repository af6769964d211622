"""One parsed file: its nodes, scopes and blocks. No framework is known here."""
