"""The rank helpers: what MPI's launcher says in the environment, and one rank of one without it."""

from __future__ import annotations

import os

__all__ = ["get_device_id", "get_local_rank_size", "get_rank_id", "get_rank_size"]


def get_rank_id() -> int:
    """Return `OMPI_COMM_WORLD_RANK`, 0 where it is not set.

    Raises:
        ValueError: not an integer, or below 0.
    """
    return _number("OMPI_COMM_WORLD_RANK", 0)


def get_rank_size() -> int:
    """Return `OMPI_COMM_WORLD_SIZE`, 1 where it is not set.

    Raises:
        ValueError: not an integer, or below 1.
    """
    return _number("OMPI_COMM_WORLD_SIZE", 1)


def get_local_rank_size() -> int:
    """Return `OMPI_COMM_WORLD_LOCAL_SIZE`, 1 where it is not set.

    Raises:
        ValueError: not an integer, or below 1.
    """
    return _number("OMPI_COMM_WORLD_LOCAL_SIZE", 1)


def get_device_id() -> int:
    """Return the number of the rank on its machine."""
    return get_rank_id() % get_local_rank_size()


def _number(variable: str, least: int) -> int:
    """Return the number in a variable of the environment; the least is also what a single process has."""
    text = os.environ.get(variable)
    if text is None:
        return least
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"the environment variable {variable} is not an integer: {text!r}") from None
    if value < least:
        raise ValueError(f"the environment variable {variable} is less than {least}: {value}")
    return value
