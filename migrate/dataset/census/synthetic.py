"""Writes files in the original format, with the original columns and a signal that can be learned.

Both labels are drawn from probabilities that this module knows (a logistic score over categories, numbers and one
interaction), so the best AUC that any model can reach on the test rows is known too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from migrate.dataset.census.columns import (
    COLUMNS,
    DENSE,
    INCOME_HIGH,
    INCOME_LOW,
    LABELS,
    NEVER_MARRIED,
    SPARSE,
    TEST_NAME,
    TEST_TRUTH,
    TRAIN_NAME,
    TRAIN_TRUTH,
)
from migrate.dataset.files import StagedFolder

Array = np.ndarray[Any, np.dtype[Any]]

#: Share of the probability that is spread evenly, so that rare categories occur in a few thousand rows.
_EVEN_SHARE = 0.15
#: Rows that fix how numbers are standardised in the score, alike for the train and the test file.
_TYPICAL_ROWS = 20_000
_MARRIED = ("Married-civilian spouse present", "Divorced", "Widowed", "Separated", "Married-spouse absent")
_KNOWN = {
    "sex": ["Female", "Male"],
    "hs_college": ["College or university", "High school", "Not in universe"],
    "union_member": ["No", "Not in universe", "Yes"],
    "vet_question": ["No", "Not in universe", "Yes"],
    "mig_same": ["No", "Not in universe under 1 year old", "Yes"],
}
_CODES = {"det_ind_code", "det_occ_code"}


@dataclass(frozen=True)
class _Distribution:
    """The distribution of rows and labels, given by the seed and shared by the training and the test file."""

    shares: list[Array]  #: per sparse column, the probability of each category
    weights: Array  #: [labels, all categories]
    dense_weights: Array  #: [labels, dense columns], on standardised numbers
    bias: Array  #: [labels]
    center: Array  #: [dense columns], what standardises the numbers of any file
    spread: Array  #: [dense columns]


def _category(column: str, index: int) -> str:
    if column in _KNOWN:
        return _KNOWN[column][index]
    return str(index) if column in _CODES else f"{column.replace('_', ' ').capitalize()} {index:02d}"


def _distribution(rng: np.random.Generator) -> _Distribution:
    shares = []
    for size in SPARSE.values():
        zipf = 1.0 / np.arange(1, size + 1)
        shares.append((1 - _EVEN_SHARE) * rng.permutation(zipf / zipf.sum()) + _EVEN_SHARE / size)
    weights = rng.normal(0.0, 0.8, size=(len(LABELS), sum(SPARSE.values())))
    dense_weights = rng.normal(0.0, 0.5, size=(len(LABELS), len(DENSE)))
    typical = _dense(_numbers(rng, _TYPICAL_ROWS))
    return _Distribution(
        shares, weights, dense_weights, np.array([-2.0, -0.3]), typical.mean(axis=0), typical.std(axis=0)
    )


def _numbers(rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Numeric columns, shaped like the original ones: skewed, mostly zero, or small integers."""

    def mostly_zero(share: float, scale: float) -> Array:
        return np.where(rng.random(count) < share, rng.exponential(scale, count).astype(np.int64), 0)

    return {
        "age": rng.integers(0, 91, count),
        "wage_per_hour": mostly_zero(0.06, 900.0),
        "capital_gains": mostly_zero(0.04, 9000.0),
        "capital_losses": mostly_zero(0.02, 1900.0),
        "stock_dividends": mostly_zero(0.11, 1900.0),
        "instance_weight": np.round(rng.gamma(3.0, 580.0, count) + 40.0, 2),
        "num_emp": rng.integers(0, 7, count),
        "own_or_self": rng.integers(0, 3, count),
        "vet_benefits": rng.integers(0, 3, count),
        "weeks_worked": np.where(rng.random(count) < 0.5, rng.integers(0, 53, count), 52),
        "year": rng.integers(94, 96, count),
    }


def _dense(numbers: dict[str, Array]) -> Array:
    """Return [rows, dense columns] in model order."""
    return np.stack([numbers[name] for name in DENSE], axis=1).astype(np.float64)


def _probabilities(distribution: _Distribution, ids: Array, numbers: Array) -> Array:
    """Return [rows, labels]: what the labels are drawn from."""
    offsets = np.concatenate([[0], np.cumsum(list(SPARSE.values()))[:-1]])
    sparse_score = distribution.weights[:, ids + offsets].sum(axis=2).T / 2.0
    dense_score = ((numbers - distribution.center) / distribution.spread) @ distribution.dense_weights.T
    # One interaction of sex and schooling: a purely additive model cannot reach the best AUC.
    columns = list(SPARSE)
    crossed = np.where(ids[:, columns.index("sex")] == ids[:, columns.index("education")] % 2, 0.4, -0.4)
    score = sparse_score + dense_score + crossed[:, None] + distribution.bias
    return np.asarray(1.0 / (1.0 + np.exp(-score)))


def _lines(ids: Array, numbers: dict[str, Array], labels: Array, marital: Array) -> Iterator[str]:
    names = {name: [_category(name, k) for k in range(size)] for name, size in SPARSE.items()}
    at = {name: i for i, name in enumerate(SPARSE)}
    for row in range(len(ids)):
        values = []
        for column in COLUMNS[:-1]:
            if column in at:
                values.append(names[column][ids[row, at[column]]])
            elif column == "marital_stat":
                values.append(NEVER_MARRIED if labels[row, 1] else _MARRIED[marital[row]])
            else:
                values.append(str(numbers[column][row]))
        values.append(INCOME_HIGH if labels[row, 0] else INCOME_LOW)
        yield ", ".join(values) + "\n"


def _write_file(
    folder: StagedFolder, name: str, truth_name: str, distribution: _Distribution, rng: np.random.Generator, count: int
) -> None:
    ids = np.stack([rng.choice(len(p), size=count, p=p) for p in distribution.shares], axis=1)
    numbers = _numbers(rng, count)
    probabilities = _probabilities(distribution, ids, _dense(numbers))
    labels = (rng.random(probabilities.shape) < probabilities).astype(np.int64)
    marital = rng.choice(len(_MARRIED), size=count, p=[0.72, 0.1, 0.09, 0.05, 0.04])
    with folder.open(name) as out:
        out.writelines(_lines(ids, numbers, labels, marital))
    with folder.open(truth_name) as out:
        out.write(",".join([*LABELS, *(f"{label}_label" for label in LABELS)]) + "\n")
        out.writelines(f"{p[0]:.9f},{p[1]:.9f},{y[0]},{y[1]}\n" for p, y in zip(probabilities, labels, strict=True))


def write_synthetic(folder: StagedFolder, rows: int, seed: int) -> tuple[Path, Path]:
    """Write `rows` training rows and half as many test rows; return the two files' (staged) paths.

    Beside them, `truth-train.csv` and `truth-test.csv` hold each row's label probabilities, then its labels.
    """
    rng = np.random.default_rng(seed)
    distribution = _distribution(rng)
    _write_file(folder, TRAIN_NAME, TRAIN_TRUTH, distribution, rng, rows)
    _write_file(folder, TEST_NAME, TEST_TRUTH, distribution, rng, max(rows // 2, 1))
    return folder.path(TRAIN_NAME), folder.path(TEST_NAME)
