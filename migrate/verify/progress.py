"""How far a proof is, for who waits for it: the share of its programs that have ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

#: Workers of most proofs, while the number is not known.
_USUAL = 4
_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)


class Progress:
    """The share of a proof that is done; each worker counts the same."""

    def __init__(self) -> None:
        self._ended, self._expected = 0, _USUAL

    def share(self) -> float:
        """Return a number from 0 to 1."""
        return self._ended / max(self._expected, self._ended, 1)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Count the workers that are run inside."""
        token = _watched.set(self)
        try:
            yield
        finally:
            _watched.reset(token)

    def expect(self, workers: int) -> None:
        """Take as known how many workers will have run at the end, besides those that have ended."""
        self._expected = self._ended + workers

    def ended(self) -> None:
        """Count a worker that has ended."""
        self._ended += 1


def expect(workers: int) -> None:
    """Tell who watches how many workers will be run from now on."""
    if (watching := _watched.get()) is not None:
        watching.expect(workers)


def ended() -> None:
    """Tell who watches that a worker has ended."""
    if (watching := _watched.get()) is not None:
        watching.ended()
