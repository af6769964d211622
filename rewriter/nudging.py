"""Twins of the original, whose tables begin with rows that are moved in the last digit: how far does it drift itself?

Proofs of rewritten graphs ask such twins. Pure numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Seeds of the random signs of two such changes; the larger difference counts.
SEEDS = (0, 1)
#: Factor by which a difference may exceed that of the twins, for each step: a step may round each row once more.
_MARGIN = 2.0
#: The magnitude to assume for a table of zeros: that of its rows after a step.
_SMALL = 0.01


def nudged(rows: Any, seed: int) -> Any:
    """Return rows with each float changed by one unit in its last place; zeros by that of the largest number."""
    sizes = np.abs(rows)
    largest = sizes.max(initial=0.0) or np.float32(_SMALL)
    units = np.spacing(np.where(sizes > 0, sizes, largest).astype(rows.dtype))
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0], rows.dtype), rows.shape)
    return rows + signs * units


def allowed(steps: int, moved: float) -> float:
    """Return the difference that is accepted after so many steps, where the twins are `moved` from the original."""
    return _MARGIN * steps * moved
