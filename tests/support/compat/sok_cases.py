"""Numbers of SOK's documentation, and what TensorFlow in one process makes of them, for one rank and for two."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

#: Two tables, and the ids and weights of two samples for each.
V1 = np.arange(51, dtype=np.float32).reshape(17, 3)
V2 = np.arange(35, dtype=np.float32).reshape(7, 5)
IDS = ([[1, 1], [3, 4, 5]], [[1], [2, 3]])
WEIGHTS = ([[1, 3], [1, 1, 2]], [[1], [1, 1]])
EMBEDDINGS = {
    "sum": (
        [[6, 8, 10], [36, 39, 42]],
        [[5, 6, 7, 8, 9], [25, 27, 29, 31, 33]],
    ),
    "mean": (
        [[3, 4, 5], [12, 13, 14]],
        [[5, 6, 7, 8, 9], [12.5, 13.5, 14.5, 15.5, 16.5]],
    ),
}
WEIGHTED = {"mean": [[3, 4, 5], [12.75, 13.75, 14.75]], "sum": [[12, 16, 20], [51, 55, 59]]}
LOSS = {"sum": 4640.5, "mean": 937.625}
#: Rows 1, 3, 4, 5 of the first table and 1, 2, 3 of the second after a step of SGD, 0.01.
AFTER = {
    "sum": (
        [[2.88, 3.84, 4.80], [8.64, 9.61, 10.58], [11.64, 12.61, 13.58], [14.64, 15.61, 16.58]],
        [[4.95, 5.94, 6.93, 7.92, 8.91], [9.75, 10.73, 11.71, 12.69, 13.67], [14.75, 15.73, 16.71, 17.69, 18.67]],
    ),
    "mean": (
        [
            [2.97, 3.96, 4.95],
            [8.96, 9.956667, 10.953333],
            [11.96, 12.956667, 13.953333],
            [14.96, 15.956667, 16.953333],
        ],
        [
            [4.95, 5.94, 6.93, 7.92, 8.91],
            [9.9375, 10.9325, 11.9275, 12.9225, 13.9175],
            [14.9375, 15.9325, 16.9275, 17.9225, 18.9175],
        ],
    ),
}
TOUCHED = ([1, 3, 4, 5], [1, 2, 3])


def ragged(rows: Any, dtype: Any = tf.int64) -> tf.RaggedTensor:
    """Rows of unequal lengths, of which there may be none."""
    flat = [one for row in rows for one in row]
    return tf.RaggedTensor.from_row_lengths(tf.constant(flat, dtype), tf.constant([len(row) for row in rows], tf.int64))


def half_squares(embeddings: Any) -> tf.Tensor:
    """The loss of the documented step."""
    return 0.5 * tf.add_n([tf.reduce_sum(one**2) for one in embeddings])
