"""From facts to blockers and verdicts: which tables, training steps and files are converted. Changes no text."""
