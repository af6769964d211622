"""`migrate run`: an unmodified program trains with tables."""
