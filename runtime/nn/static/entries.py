"""Which ids of a `sparse_embedding` get a row."""

from __future__ import annotations

from typing import Any


class CountFilterEntry:
    """An id gets a row at its n-th occurrence; until then it reads zeros and is not trained."""

    def __init__(self, count_filter: int) -> None:
        """Take n.

        Raises:
            ValueError: it is no integer from 0.
        """
        if not isinstance(count_filter, int) or isinstance(count_filter, bool) or count_filter < 0:
            raise ValueError(f"CountFilterEntry got {count_filter!r}: give an integer from 0")
        self.count_filter = count_filter

    @property
    def config(self) -> dict[str, Any]:
        """What a lookup is told."""
        return {"access_threshold": self.count_filter}


class ProbabilityEntry:
    """An id gets a row at each occurrence with a probability; until then it reads zeros and is not trained.

    Whether one does is drawn from the table's seed and the id, so that a run repeats.
    """

    def __init__(self, probability: float) -> None:
        """Take the probability.

        Raises:
            ValueError: it is no float between 0 and 1.
        """
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError(f"ProbabilityEntry got {probability!r}: give a float between 0 and 1")
        self.probability = probability

    @property
    def config(self) -> dict[str, Any]:
        """What a lookup is told."""
        return {"access_probability": self.probability}


class ShowClickEntry:
    """Every id gets a row. Paddle's servers keep the shows and clicks of a row, and drop rows with few; tables do not.

    So the names have no effect.
    """

    config: dict[str, Any] | None = None

    def __init__(self, show_name: str, click_name: str) -> None:
        """Take the names of two tensors.

        Raises:
            ValueError: one is no string.
        """
        for name in (show_name, click_name):
            if not isinstance(name, str):
                raise ValueError(f"ShowClickEntry got {name!r}: give the names of two tensors")
        self.show_name, self.click_name = show_name, click_name
