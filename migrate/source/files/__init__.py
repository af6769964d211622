"""Files: how they are read, edited, written at once and reverted; notebooks; what converting one gave."""
