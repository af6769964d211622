"""What was found and done, as data (`model`), and the writers that show it."""
