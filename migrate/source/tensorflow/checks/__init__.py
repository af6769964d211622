"""From facts to blockers: what keeps a table, a step or a file as it is, and the verdicts. Changes no text."""
