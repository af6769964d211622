"""Metrics with Paddle's names and formulas, as sums in variables of the graph.

`update(...)` adds an op for the batch to the graph, `updates()` returns all of them for the training loop to run,
`accumulate()` is a tensor and `reset()` an op. The sums are local variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime.nn.metric_base import COLLECTION, Metric, updates

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "Sums", "updates"]

v1 = tf.compat.v1


class Sums(Metric, in_graph=True):
    """A metric of Paddle: sums over batches by name; on values, as in a metric of the program's own, of values."""

    def __init_subclass__(cls, **named: Any) -> None:
        """Let `accumulate` return numbers where it is called on values."""
        super().__init_subclass__(in_graph=True, **named)
        name = "accumulate"
        if name in vars(cls):
            setattr(cls, name, _of_values(vars(cls)[name]))

    def __init__(self) -> None:
        """Begin without sums."""
        self._sums: WeakKeyDictionary[tf.Graph, dict[str, tf.Variable]] = WeakKeyDictionary()
        self._values: dict[str, tf.Tensor] = {}

    def reset(self) -> Any:
        """Return the op that forgets all batches."""
        if tf.executing_eagerly():
            self._values = {}
            return None
        return tf.group(*(one.initializer for one in self._variables().values()))

    def shapes(self) -> dict[str, list[int]]:
        """Return the shapes of the sums by name."""
        raise NotImplementedError

    def _variables(self) -> dict[str, tf.Variable]:
        graph = v1.get_default_graph()
        if graph not in self._sums:
            kinds = [v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES]
            with tf.init_scope(), v1.name_scope(None):
                self._sums[graph] = {
                    name: v1.Variable(
                        tf.zeros(shape, tf.float64),
                        trainable=False,
                        collections=kinds,
                        name=f"{type(self).__name__}/{name}",
                        use_resource=True,
                    )
                    for name, shape in self.shapes().items()
                }
        return self._sums[graph]

    def sum(self, name: str) -> tf.Tensor:
        """Return a sum as it is when it is read."""
        if tf.executing_eagerly():
            return self._values.get(name, tf.zeros(self.shapes()[name], tf.float64))
        return self._variables()[name].read_value()

    def add(self, **parts: Any) -> Any:
        """Return the op that adds a batch's parts to the sums; `updates()` has it, too."""
        if tf.executing_eagerly():
            self._values |= {name: self.sum(name) + tf.cast(part, tf.float64) for name, part in parts.items()}
            return None
        held = self._variables()
        done = tf.group(*(v1.assign_add(held[name], tf.cast(part, tf.float64)) for name, part in parts.items()))
        v1.add_to_collection(COLLECTION, done)
        return done


def _of_values(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(method)
    def accumulate(self: Any) -> Any:
        values = method(self)
        return tf.nest.map_structure(lambda tensor: tensor.numpy(), values) if tf.executing_eagerly() else values

    return accumulate


class Accuracy(Sums):
    """Share of the rows whose label is among the k largest predictions, for each k of `topk`."""

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None) -> None:
        """Take the ks, and the name, `acc` by default."""
        super().__init__()
        self.topk = tuple(topk)
        self.maxk = max(self.topk)
        called = name or "acc"
        self._name = [called] if self.maxk == 1 else [f"{called}_top{k}" for k in self.topk]

    def compute(self, pred: Any, label: Any, *args: Any) -> tf.Tensor:
        """Return float32 [..., maxk]: 1 where the k-th largest of `pred` [..., classes] is the label.

        Labels are [n] or [n, 1] of classes, or [n, classes] with 1 for the class.
        """
        pred, label = tf.convert_to_tensor(pred), tf.convert_to_tensor(label)
        classes = pred.shape[-1] if pred.shape[-1] is not None else tf.shape(pred)[-1]
        most = min(self.maxk, classes) if isinstance(classes, int) else tf.minimum(self.maxk, classes)
        best = tf.math.top_k(pred, most).indices
        if label.shape.rank == 1 or (label.shape.rank == 2 and label.shape[-1] == 1):
            label = tf.reshape(label, [-1, 1])
        elif label.shape[-1] != 1:
            label = tf.argmax(label, -1)[..., tf.newaxis]
        return tf.cast(tf.equal(tf.cast(best, tf.int64), tf.cast(label, tf.int64)), tf.float32)

    def update(self, correct: Any, *args: Any) -> Any:
        """Add what `compute` returned; return the accuracy of the batch, float32, or one for each k."""
        correct = tf.convert_to_tensor(correct)
        count = tf.cast(tf.reduce_prod(tf.shape(correct)[:-1]), tf.float64)
        hits = tf.stack([tf.reduce_sum(tf.cast(correct[..., :k], tf.float64)) for k in self.topk])
        self.add(total=hits, count=count)
        return self._each(tf.cast(hits / count, tf.float32))

    def accumulate(self) -> Any:
        """Return the accuracy, a float64 scalar, or a list with one for each k; 0 before the first batch."""
        return self._each(tf.math.divide_no_nan(self.sum("total"), self.sum("count")))

    def _each(self, values: tf.Tensor) -> Any:
        each = tf.unstack(values, len(self.topk))
        return each[0] if len(each) == 1 else each

    def name(self) -> list[str]:
        """Return one name for each k."""
        return self._name

    def shapes(self) -> dict[str, list[int]]:
        """Return the shapes of the sums by name."""
        return {"total": [len(self.topk)], "count": []}


class _Share(Sums):
    """True positives divided by them and other rows."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def name(self) -> str:
        """Return the name."""
        return self._name

    def shapes(self) -> dict[str, list[int]]:
        """Return the shapes of the sums by name."""
        return {"hits": [], "others": []}

    def accumulate(self) -> tf.Tensor:
        """Return the share, a float64 scalar; 0 before the first row that counts."""
        return tf.math.divide_no_nan(self.sum("hits"), self.sum("hits") + self.sum("others"))

    def _add(self, counts: tf.Tensor, hit: tf.Tensor) -> tf.Operation:
        hits, rows = (tf.reduce_sum(tf.cast(one, tf.float64)) for one in (counts & hit, counts))
        return self.add(hits=hits, others=rows - hits)


class Precision(_Share):
    """Share of the rows predicted as 1 whose label is 1."""

    def __init__(self, name: str = "precision") -> None:
        """Take the name."""
        super().__init__(name)

    def update(self, preds: Any, labels: Any) -> tf.Operation:
        """Add predictions, 1 from 0.5 on, and labels, one for each row; return the op."""
        preds = tf.convert_to_tensor(preds)
        rounded, labels = _flat(tf.floor(preds + tf.cast(0.5, preds.dtype))), _flat(labels)
        return self._add(tf.equal(rounded, 1.0), tf.equal(rounded, labels))


class Recall(_Share):
    """Share of the rows with label 1 that are predicted as 1."""

    def __init__(self, name: str = "recall") -> None:
        """Take the name."""
        super().__init__(name)

    def update(self, preds: Any, labels: Any) -> tf.Operation:
        """Add predictions, 1 above 0.5, and labels, one for each row; return the op."""
        rounded, labels = _flat(tf.math.rint(tf.convert_to_tensor(preds))), _flat(labels)
        return self._add(tf.equal(labels, 1.0), tf.equal(rounded, labels))


class Auc(Sums):
    """Area under the curve of true by false positives, from a histogram of the predictions."""

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc") -> None:
        """Take the number of bins less 1, and the name; `curve` has no effect, as in Paddle."""
        super().__init__()
        self._curve, self._num_thresholds, self._name = curve, int(num_thresholds), name

    def update(self, preds: Any, labels: Any) -> tf.Operation:
        """Add predictions [n, 2], whose second column is the probability of label 1, and n labels; return the op.

        Predictions may have further dimensions of one element.
        """
        chosen = tf.convert_to_tensor(preds)[:, 1]
        if chosen.shape.rank == 1:  # Paddle's product is one of Python's numbers; of an array of one it has its dtype
            chosen = tf.cast(chosen, tf.float64)
        places = tf.cast(tf.reshape(chosen, [-1]) * self._num_thresholds, tf.int64)
        positive = tf.cast(tf.not_equal(_flat(labels), 0.0), tf.float64)
        pairs = tf.stack([positive, 1.0 - positive], 1)
        parts = tf.scatter_nd(places[:, tf.newaxis], pairs, [self._num_thresholds + 1, 2])
        return self.add(histogram=parts)

    def accumulate(self) -> tf.Tensor:
        """Return the area, a float64 scalar; 0 while there is one kind of label only."""
        return area_of(self.sum("histogram"))

    def name(self) -> str:
        """Return the name."""
        return self._name

    def shapes(self) -> dict[str, list[int]]:
        """Return the shapes of the sums by name."""
        return {"histogram": [self._num_thresholds + 1, 2]}


def area_of(histogram: tf.Tensor) -> tf.Tensor:
    """Return the area under the curve of positive and negative counts [bins, 2]; 0 while one kind has none."""
    rows = tf.reverse(histogram, [0])
    before = tf.cumsum(rows[:, 0], exclusive=True)
    positive, negative = tf.unstack(tf.reduce_sum(rows, 0))
    return tf.math.divide_no_nan(tf.reduce_sum(rows[:, 1] * (before + rows[:, 0] / 2.0)), positive * negative)


def _flat(values: Any) -> tf.Tensor:
    return tf.reshape(tf.cast(values, tf.float64), [-1])
