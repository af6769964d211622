"""The one exception that a user sees: the command prints its sentence and exits with 2."""


class MigrateError(Exception):
    """One sentence that names the thing, what is wrong with it, and the remedy."""
