"""Metrics over many batches: `update` adds to a graph what counts a batch, `accumulate` is the value so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
_UPDATES = "runtime/nn/metric_updates"


def updates() -> list[tf.Operation]:
    """Return the ops of the current graph that count a batch, in the order of `update`."""
    found: list[tf.Operation] = v1.get_collection(_UPDATES)
    return found


class Metric:
    """Base class: counts are variables; a subclass adds to them and computes a value of them."""

    def __init__(self, name: str) -> None:
        """Take the name by which the value is told."""
        self._name = name
        self._counts: list[tf.Variable] = []

    def name(self) -> str:
        """Return the name."""
        return self._name

    def reset(self) -> tf.Operation:
        """Return the op that forgets all batches."""
        return v1.group(*[count.assign(tf.zeros_like(count)) for count in self._variables()])

    def compute(self, pred: Any, label: Any, *others: Any) -> Any:
        """Return what `update` takes."""
        return pred, label

    def update(self, *given: Any) -> tf.Operation:
        """Return the op that counts a batch; `updates()` lists it, too."""
        batch = given[0] if len(given) == 1 and isinstance(given[0], tuple) else given
        added = self._added(*batch)
        pairs = zip(self._variables(), added, strict=True)
        update = v1.group(*[count.assign_add(tf.cast(more, count.dtype)) for count, more in pairs])
        v1.add_to_collection(_UPDATES, update)
        return update

    def accumulate(self) -> tf.Tensor:
        """Return the value over all batches since the last reset."""
        return self._value(*[count.read_value() for count in self._variables()])

    def _variables(self) -> list[tf.Variable]:
        if not self._counts:
            with tf.init_scope():
                self._counts = [
                    v1.Variable(tf.zeros(shape, tf.float64), trainable=False, name=f"{self._name}_count")
                    for shape in self._shapes()
                ]
        return self._counts

    def _shapes(self) -> list[list[int]]:
        return [[], []]

    def _added(self, *batch: Any) -> Sequence[tf.Tensor]:
        raise NotImplementedError

    def _value(self, *counts: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError


class Auc(Metric):
    """The area under the ROC curve, from histograms of the predictions of both classes."""

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc") -> None:
        """Take the number of bins less one.

        Raises:
            ValueError: another curve than ROC.
        """
        if curve != "ROC":
            raise ValueError(f"Auc got curve={curve!r}: only 'ROC' is supported")
        super().__init__(name)
        self._bins = num_thresholds + 1

    def update(self, preds: Any, labels: Any) -> tf.Operation:
        """Return the op that counts a batch.

        Args:
            preds: [batch, 2], of which column 1 is the probability of the positive class, or [batch] or [batch, 1].
            labels: [batch] or [batch, 1], 0 or 1.
        """
        return super().update(preds, labels)

    def _shapes(self) -> list[list[int]]:
        return [[self._bins], [self._bins]]

    def _added(self, *batch: Any) -> Sequence[tf.Tensor]:
        preds, labels = (tf.convert_to_tensor(item) for item in batch)
        positive = preds[:, -1] if preds.shape.rank == 2 else preds
        places = tf.cast(tf.cast(positive, tf.float64) * (self._bins - 1), tf.int32)
        truth = tf.cast(tf.reshape(labels, [-1]), tf.bool)
        ones = tf.ones_like(places, tf.float64)
        count = [tf.where(which, ones, 0 * ones) for which in (truth, tf.logical_not(truth))]
        return [tf.math.unsorted_segment_sum(item, places, self._bins) for item in count]

    def _value(self, *counts: tf.Tensor) -> tf.Tensor:
        positive, negative = (tf.cumsum(item[::-1]) for item in counts)
        before_p, before_n = (tf.concat([[0.0], item[:-1]], 0) for item in (_as64(positive), _as64(negative)))
        area = tf.reduce_sum((negative - before_n) * (positive + before_p) / 2)
        total = positive[-1] * negative[-1]
        return tf.where(total > 0, area / tf.where(total > 0, total, tf.ones_like(total)), tf.zeros_like(total))


def _as64(value: tf.Tensor) -> tf.Tensor:
    return tf.cast(value, tf.float64)


class Accuracy(Metric):
    """The share of samples whose label is among the `topk` largest predictions."""

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None) -> None:
        """Take how many of the largest predictions count.

        Raises:
            ValueError: several numbers.
        """
        if len(topk) != 1:
            raise ValueError(f"Accuracy got topk={tuple(topk)!r}: give one number, and one metric for each")
        super().__init__(name or "acc")
        self._most = topk[0]

    def compute(self, pred: Any, label: Any, *others: Any) -> Any:
        """Return for each sample 1.0 at the place of its label among the largest predictions: [batch, topk]."""
        pred, label = tf.convert_to_tensor(pred), tf.convert_to_tensor(label)
        if label.shape.rank == pred.shape.rank and label.shape[-1] != 1:
            label = tf.argmax(label, axis=-1, output_type=tf.int64)[..., None]
        wanted = tf.reshape(tf.cast(label, tf.int32), [-1, 1])
        largest = tf.math.top_k(tf.reshape(pred, [-1, pred.shape[-1]]), self._most).indices
        return tf.cast(tf.equal(largest, wanted), tf.float32)

    def update(self, correct: Any, *others: Any) -> tf.Operation:
        """Return the op that counts a batch of what `compute` returned."""
        return super().update(correct)

    def _added(self, *batch: Any) -> Sequence[tf.Tensor]:
        correct = tf.convert_to_tensor(batch[0])
        return [tf.reduce_sum(correct), tf.shape(correct)[0]]

    def _value(self, *counts: tf.Tensor) -> tf.Tensor:
        return tf.math.divide_no_nan(counts[0], counts[1])


class Precision(Metric):
    """Of the samples predicted above 0.5, the share whose label is 1."""

    def __init__(self, name: str = "precision") -> None:
        """Take the name."""
        super().__init__(name)

    def _added(self, *batch: Any) -> Sequence[tf.Tensor]:
        preds, labels = (tf.reshape(tf.convert_to_tensor(item), [-1]) for item in batch)
        chosen = preds > 0.5
        hits = tf.logical_and(chosen, tf.cast(labels, tf.int64) > 0)
        return [
            tf.reduce_sum(tf.cast(hits, tf.float64)),
            tf.reduce_sum(tf.cast(self._counted(chosen, labels), tf.float64)),
        ]

    def _counted(self, chosen: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return chosen

    def _value(self, *counts: tf.Tensor) -> tf.Tensor:
        return tf.math.divide_no_nan(counts[0], counts[1])


class Recall(Precision):
    """Of the samples whose label is 1, the share predicted above 0.5."""

    def __init__(self, name: str = "recall") -> None:
        """Take the name."""
        super().__init__(name)

    def _counted(self, chosen: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return tf.cast(labels, tf.int64) > 0


__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "updates"]
