"""The exception for errors that a user can fix: the command prints its message and exits with code 2."""


class MigrateError(Exception):
    """An error whose message is one sentence: the thing, what is wrong with it, and the remedy."""
