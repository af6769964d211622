"""Words for what happens to a table, in lines for users and in reports; needs no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def stepped_as(rule: str, whole: object) -> str:
    """Return the optimizer that an update steps as: the lazy rule with a gradient of all rows is Adam itself."""
    return "adam" if rule == "lazy_adam" and whole is not None else rule


def places(sources: Iterable[str], most: int = 4) -> str:
    """Return source lines in parentheses, each once and without its function; empty if none is known."""
    known = dict.fromkeys(source.partition(" in ")[0] for source in sources if source)
    return f" ({first([*known], most)})" if known else ""


def first(names: Sequence[str], most: int) -> str:
    """Return the first names, with an ellipsis if there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return the first names of variables as code, and how many more there are."""
    every = [f"`{name}`" for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
