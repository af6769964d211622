"""Post-conditions of a rewrite, which is undone if one fails, and a guard against later uses of replaced variables."""
