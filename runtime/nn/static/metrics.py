"""Metrics of static graphs: sums in variables, and values that count the batch at hand."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.metric import Sums, area_of

v1 = tf.compat.v1


class RunningSums(Sums):
    """Sums by name, float64 in local variables."""

    def __init__(self, shapes: dict[str, list[int]]) -> None:
        super().__init__()
        self._shapes = shapes

    def shapes(self) -> dict[str, list[int]]:
        return self._shapes

    def after(self, **parts: Any) -> dict[str, tf.Tensor]:
        """Return the sums with a batch's parts, which running them adds once."""
        with tf.control_dependencies([self.add(**parts)]):
            return {name: self.sum(name) for name in parts}


def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Any = None,
) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
    """Return the area under the curve of all batches, that of the last `slide_steps`, and the histograms behind them.

    Args:
        input: [n, k] probabilities, of which the last column is that of label 1.
        label: n labels.
        curve: "ROC".
        num_thresholds: number of bins less 1.
        topk: has no effect.
        slide_steps: how many batches the second area is of; 0: all.
        ins_tag_weight: must be None.

    Returns:
        Two float64 scalars, and int64 [1, bins] of labels 1 and 0: of the last batches, and of all.

    Raises:
        ValueError: an argument is not supported.
    """
    del topk
    if curve != "ROC" or ins_tag_weight is not None:
        raise ValueError("auc got another curve than ROC, or ins_tag_weight: neither is supported")
    scores = tf.convert_to_tensor(input)[:, -1]
    bins = tf.cast(scores * tf.cast(num_thresholds, scores.dtype), tf.int64)
    positive = tf.cast(tf.not_equal(tf.reshape(tf.convert_to_tensor(label), [-1]), 0), tf.float64)
    parts = tf.scatter_nd(bins[:, tf.newaxis], tf.stack([positive, 1.0 - positive], 1), [num_thresholds + 1, 2])
    every = RunningSums({"histogram": [num_thresholds + 1, 2]}).after(histogram=parts)["histogram"]
    last = every if slide_steps == 0 else parts if slide_steps == 1 else _slid(parts, slide_steps)
    stats = [tf.cast(kind[tf.newaxis, :, i], tf.int64) for kind in (last, every) for i in (0, 1)]
    return area_of(every), area_of(last), stats


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: Any = None) -> tf.Tensor:
    """Return the share of a batch's rows whose label is among the k largest values, a float32 scalar.

    Args:
        input: [n, classes].
        label: n labels.
        k: see above.
        correct: must be None.
        total: must be None.
        name: has no effect.

    Raises:
        ValueError: `correct` or `total` is given.
    """
    del name
    if correct is not None or total is not None:
        raise ValueError("accuracy got correct or total, which are not supported: leave them out")
    best = tf.math.top_k(tf.convert_to_tensor(input), k).indices
    wanted = tf.reshape(tf.cast(tf.convert_to_tensor(label), best.dtype), [-1, 1])
    return tf.reduce_mean(tf.cast(tf.reduce_any(tf.equal(best, wanted), 1), tf.float32))


def _slid(parts: tf.Tensor, steps: int) -> tf.Tensor:
    """Return the sum of the parts of the last steps, this one included."""
    held = RunningSums({"last": [steps, *parts.shape]})
    before = held.sum("last")
    added = tf.concat([before[1:], parts[tf.newaxis]], 0) - before
    return tf.reduce_sum(held.after(last=added)["last"], 0)


def ctr_metric_bundle(input: Any, label: Any, ins_tag_weight: Any = None) -> tuple[tf.Tensor, ...]:
    """Return sums over all batches, float32 [1]: squared errors, errors, predictions, their sigmoids, labels, samples.

    Args:
        input: float32 [n, 1] predictions.
        label: float32 [n, 1].
        ins_tag_weight: must be None.

    Raises:
        ValueError: `ins_tag_weight` is given.
    """
    if ins_tag_weight is not None:
        raise ValueError("ctr_metric_bundle got ins_tag_weight, which is not supported: leave it out")
    x, y = (tf.cast(tf.convert_to_tensor(one), tf.float64) for one in (input, label))
    parts = {
        "squared": tf.reduce_sum(tf.square(x - y)),
        "absolute": tf.reduce_sum(tf.abs(x - y)),
        "predicted": tf.reduce_sum(x),
        "sigmoids": tf.reduce_sum(tf.sigmoid(x)),
        "positive": tf.reduce_sum(y),
        "samples": tf.cast(tf.shape(y)[0], tf.float64),
    }
    sums = RunningSums({name: [] for name in parts}).after(**parts)
    return tuple(tf.reshape(tf.cast(value, tf.float32), [1]) for value in sums.values())
