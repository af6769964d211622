"""From verdicts to edits of the text: tables, lookups, training steps, sessions and imports."""
