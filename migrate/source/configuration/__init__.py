"""Configuration files, the user's own rules that they name, and what of a report they leave."""
