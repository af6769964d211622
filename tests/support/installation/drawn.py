"""Programs that are drawn by a seed: a table, what is computed between it and its loss, a step, and what is run.

Each part is a row of a dict, so that any two meet sooner or later; `words_of` says which parts a seed has drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Setting, begin, new_graph

v1 = tf.compat.v1
_ROWS = 12
_Build = Callable[..., Any]


class _Drawn:
    """A graph that a seed says how to build."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.draw, self.words = random.Random(seed), list[str]()
        self.setting, self.dim = setting, self.draw.choice((1, 2, 3, 5))
        self.values = list[Any]()
        self.saver: Any = None

    def of(self, what: Mapping[str, _Build], usual: float = 0.0) -> _Build:
        """Draw a row; the first one in so many of all cases."""
        name = next(iter(what)) if self.draw.random() < usual else self.draw.choice(list(what))
        self.words.append(name)
        return what[name]

    def build(self) -> None:
        """Build the graph."""
        self.w = self.of(_VARIABLES, 0.4)(self)
        self.dense = self.setting.variable("dense", [self.dim, 1])
        self.ids = v1.placeholder(self.draw.choice((tf.int32, tf.int64)), [None], name="ids")
        self.flag = v1.placeholder_with_default(True, [])
        self.step_number = v1.train.get_or_create_global_step()
        self.steps = self.setting.variable(
            "steps", [], dtype=tf.int32, initializer=v1.zeros_initializer(), trainable=False
        )
        whole = self.of(_BETWEEN, 0.4)(self, self.w)
        self.rows = self.of(_LOOKUPS, 0.3)(self, whole, self.of(_IDS, 0.5)(self))
        if self.draw.random() < 0.3:
            self.rows += self.of(_LOOKUPS)(self, self.of(_BETWEEN, 0.5)(self, self.w), self.ids)
        self.out = tf.matmul(self.rows, self.dense)
        self.loss = tf.reduce_mean((tf.tanh(self.out) - 0.5) ** 2) + self.of(_TERMS, 0.5)(self)
        self.optimizer = self.of(_OPTIMIZERS)(self)
        pairs = [one for one in self.optimizer.compute_gradients(self.loss) if one[0] is not None]
        pairs = self.of(_GRADIENTS, 0.4)(self, pairs)
        step = self.optimizer.apply_gradients(pairs, global_step=self.step_number)
        self.step = self.of(_AFTER, 0.6)(self, step)

    def feed(self) -> dict[Any, Any]:
        """Draw a batch; some ids repeat."""
        return {self.ids: [self.draw.randrange(_ROWS - 1) for _ in range(self.draw.choice((1, 3, 4)))]}

    def train(self, session: Any, number: int) -> None:
        """Run steps, and keep their losses."""
        self.values += [session.run([self.loss, self.step], self.feed())[0] for _ in range(number)]


def run(seed: int, setting: Setting) -> list[Any]:
    """Build and run the program of a seed; return what it computes."""
    drawn = _Drawn(setting, seed)
    drawn.build()
    drawn.saver = v1.train.Saver()
    with v1.Session() as session:
        begin(session)
        drawn.train(session, 2)
        for _ in range(3):
            drawn.of(_EVENTS)(drawn, session)
            drawn.train(session, 2)
        drawn.values += [session.run(list(drawn.w) if isinstance(drawn.w, list) else drawn.w), session.run(drawn.dense)]
        drawn.values.append(
            {
                name: tf.train.load_variable(path, name)
                for path in [_save(drawn, session)]
                for name, _ in tf.train.list_variables(path)
            }
        )
    return drawn.values


def words_of(seed: int, setting: Setting) -> str:
    """Return the parts that a seed has drawn."""
    with new_graph():
        drawn = _Drawn(setting, seed)
        drawn.build()
    return ", ".join(drawn.words)


def _variable(drawn: _Drawn, name: str = "w", **named: Any) -> Any:
    return drawn.setting.variable(name, [_ROWS, drawn.dim], **named)


def _sparse(ids: Any) -> tf.SparseTensor:
    numbers = tf.range(tf.size(ids, tf.int64))
    return tf.SparseTensor(
        tf.stack([numbers, numbers * 0], 1), tf.cast(ids, tf.int64), tf.stack([tf.size(ids, tf.int64), 1])
    )


def _weighted(table: Any, ids: Any, combiner: str) -> Any:
    ids = _sparse(ids)
    weights = tf.SparseTensor(ids.indices, tf.cast(ids.values, tf.float32) + 1.0, ids.dense_shape)
    return v1.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)


def _in_function(table: Any, ids: Any) -> Any:
    return tf.function(lambda rows, given: tf.gather(rows, given), autograph=False)(table, ids)


def _values(change: Callable[[Any], Any]) -> _Build:
    """Return what changes the values of each gradient, in the form that it has."""

    def changed(drawn: _Drawn, pairs: Any) -> Any:
        return [
            (tf.IndexedSlices(change(one.values), one.indices, one.dense_shape), variable)
            if isinstance(one, tf.IndexedSlices)
            else (change(one), variable)
            for one, variable in pairs
        ]

    return changed


def _globally(drawn: _Drawn, pairs: Any) -> Any:
    gradients, variables = zip(*pairs, strict=True)
    return list(zip(tf.clip_by_global_norm(gradients, 0.05)[0], variables, strict=True))


def _summed_by_hand(drawn: _Drawn, pairs: Any) -> Any:
    def summed(one: Any) -> Any:
        if not isinstance(one, tf.IndexedSlices):
            return one
        ids, numbers = tf.unique(one.indices)
        return tf.IndexedSlices(tf.math.unsorted_segment_sum(one.values, numbers, tf.size(ids)), ids, one.dense_shape)

    return [(summed(one), variable) for one, variable in pairs]


def _averaged(drawn: _Drawn, step: Any) -> Any:
    if drawn.setting.second and not drawn.setting.resource:
        return step  # in branches of TensorFlow 2 averages begin with ref variables that may have no values yet
    averages = v1.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([step]):
        return averages.apply(v1.trainable_variables())


def _shortened(drawn: _Drawn, step: Any) -> Any:
    with tf.control_dependencies([step]):
        return [one.assign(tf.clip_by_norm(one.read_value(), 2.0, axes=[1])) for one in v1.trainable_variables()]


def _read_afterwards(drawn: _Drawn, step: Any) -> Any:
    with tf.control_dependencies([step]):
        return tf.reduce_sum(drawn.dense.read_value()), step


def _save(drawn: _Drawn, session: Any) -> str:
    return str(drawn.saver.save(session, str(drawn.setting.folder / "model")))


def _parts(drawn: _Drawn) -> list[Any]:
    return drawn.w if isinstance(drawn.w, list) else [drawn.w]


def _restored(drawn: _Drawn, session: Any) -> None:
    path = _save(drawn, session)
    drawn.train(session, 1)
    drawn.saver.restore(session, path)


def _restored_by_a_late_saver(drawn: _Drawn, session: Any) -> None:
    path = _save(drawn, session)
    drawn.train(session, 1)
    v1.train.Saver(v1.trainable_variables()).restore(session, path)


def _second_session(drawn: _Drawn, session: Any) -> None:
    path = _save(drawn, session)
    with v1.Session() as other:
        drawn.saver.restore(other, path)
        drawn.train(other, 2)


def _imported(drawn: _Drawn, session: Any) -> None:
    path, fed = _save(drawn, session), drawn.feed()
    with new_graph(), v1.Session() as other:
        v1.train.import_meta_graph(f"{path}.meta").restore(other, path)
        drawn.values.append(other.run(drawn.out.name, {"ids:0": fed[drawn.ids]}))


def _frozen(drawn: _Drawn, session: Any) -> None:
    definition = v1.graph_util.convert_variables_to_constants(
        session, session.graph.as_graph_def(), [drawn.out.op.name]
    )
    with new_graph(), v1.Session() as other:
        (out,) = tf.import_graph_def(definition, return_elements=[drawn.out.name], name="")
        drawn.values.append(other.run(out, {"ids:0": drawn.feed()[drawn.ids]}))


def _set_late(drawn: _Drawn, session: Any) -> None:
    for part in _parts(drawn):
        session.run(part.assign(np.linspace(-1, 1, np.prod(part.shape)).reshape(part.shape)))


def _more_training(drawn: _Drawn, session: Any) -> None:
    before = set(v1.global_variables())
    loss = tf.reduce_sum(tf.nn.embedding_lookup(drawn.w, drawn.ids) ** 2)
    step = v1.train.MomentumOptimizer(0.05, 0.5).minimize(loss, var_list=_parts(drawn))
    session.run(v1.variables_initializer([one for one in v1.global_variables() if one not in before]))
    drawn.values += [session.run([loss, step], drawn.feed())[0] for _ in range(2)]


def _fetch(build: Callable[[_Drawn], Any]) -> _Build:
    """Return what keeps the value of something that is built when it is asked for."""

    def fetch(drawn: _Drawn, session: Any) -> None:
        drawn.values.append(session.run(build(drawn), drawn.feed()))

    return fetch


def _slots(drawn: _Drawn) -> list[Any]:
    names = drawn.optimizer.get_slot_names()
    found = [drawn.optimizer.get_slot(part, name) for name in names for part in _parts(drawn)]
    return [drawn.loss, *(one for one in found if one is not None)]


_VARIABLES: dict[str, _Build] = {
    "plain": _variable,
    "zeros": lambda drawn: _variable(drawn, initializer=v1.zeros_initializer()),
    "truncated": lambda drawn: _variable(drawn, initializer=v1.truncated_normal_initializer(stddev=0.1)),
    "orthogonal": lambda drawn: _variable(drawn, initializer=v1.orthogonal_initializer()),
    "array": lambda drawn: _variable(drawn, initializer=v1.constant_initializer(np.linspace(-1, 1, _ROWS * drawn.dim))),
    "parts": lambda drawn: list(_variable(drawn, partitioner=v1.fixed_size_partitioner(3))),
}
_BETWEEN: dict[str, _Build] = {
    "itself": lambda drawn, w: w,
    "scaled": lambda drawn, w: _one(w) * 0.5,
    "tanh": lambda drawn, w: tf.tanh(_one(w)),
    "unit rows": lambda drawn, w: tf.nn.l2_normalize(_one(w), 1),
    "half": lambda drawn, w: tf.cast(tf.cast(_one(w), tf.float16), tf.float32),
    "masked": lambda drawn, w: _one(w) * tf.constant(np.arange(_ROWS)[:, np.newaxis] % 3 > 0, tf.float32),
    "padded": lambda drawn, w: tf.concat([tf.zeros([1, drawn.dim]), _one(w)[1:]], 0),
    "with a last row": lambda drawn, w: tf.concat(
        [_one(w)[:-1], drawn.setting.variable(f"last{len(drawn.words)}", [1, drawn.dim])], 0
    ),
    "sum of two": lambda drawn, w: _one(w) + _variable(drawn, f"other{len(drawn.words)}"),
    "stopped": lambda drawn, w: tf.stop_gradient(_one(w)),
    "product": lambda drawn, w: tf.matmul(
        _one(w), drawn.setting.variable(f"kernel{len(drawn.words)}", [drawn.dim] * 2)
    ),
    "centered": lambda drawn, w: _one(w) - tf.reduce_mean(_one(w), 0),
    "added up": lambda drawn, w: tf.cumsum(_one(w)),
    "reversed": lambda drawn, w: tf.reverse(_one(w), [0]),
}


def _one(w: Any) -> Any:
    return tf.concat(w, 0) if isinstance(w, list) else w


_LOOKUPS: dict[str, _Build] = {
    "embedding_lookup": lambda drawn, w, ids: v1.nn.embedding_lookup(w, ids, partition_strategy="div"),
    "gather": lambda drawn, w, ids: tf.gather(_one(w), ids),
    "gather_nd": lambda drawn, w, ids: tf.gather_nd(_one(w), ids[:, tf.newaxis]),
    "greatest norm": lambda drawn, w, ids: tf.nn.embedding_lookup(_one(w), ids, max_norm=0.5),
    "one_hot": lambda drawn, w, ids: tf.matmul(tf.one_hot(ids, _ROWS), _one(w)),
    "sum": lambda drawn, w, ids: _weighted(_one(w), ids, "sum"),
    "mean": lambda drawn, w, ids: _weighted(_one(w), ids, "mean"),
    "sqrtn": lambda drawn, w, ids: v1.nn.embedding_lookup_sparse(_one(w), _sparse(ids), None, combiner="sqrtn"),
    "safe": lambda drawn, w, ids: v1.nn.safe_embedding_lookup_sparse([_one(w)], _sparse(ids)),
    "cond": lambda drawn, w, ids: tf.cond(
        drawn.flag, lambda: tf.gather(_one(w), ids), lambda: tf.gather(_one(w), ids) * 2
    ),
    "map_fn": lambda drawn, w, ids: tf.map_fn(lambda one: tf.gather(_one(w), one), ids, tf.float32),
    "function": lambda drawn, w, ids: _in_function(_one(w), ids),
    "two axes": lambda drawn, w, ids: tf.reduce_sum(tf.gather(_one(w), tf.stack([ids, (ids + 1) % _ROWS], 1)), 1),
    "pairs": lambda drawn, w, ids: tf.gather(_one(w), ids) * tf.gather(_one(w), (ids * 5) % _ROWS),
    "dropout": lambda drawn, w, ids: tf.nn.dropout(tf.gather(_one(w), ids), rate=0.4, seed=3),
}
_IDS: dict[str, _Build] = {
    "ids": lambda drawn: drawn.ids,
    "remainder": lambda drawn: (drawn.ids * 7) % _ROWS,
    "hashed": lambda drawn: tf.strings.to_hash_bucket_fast(tf.strings.as_string(drawn.ids), _ROWS),
    "once": lambda drawn: tf.gather(*tf.unique(drawn.ids)[:2]),
    "shifted": lambda drawn: drawn.ids + 1,
    "bounded": lambda drawn: tf.clip_by_value(drawn.ids * 3, 0, _ROWS - 1),
    "chosen": lambda drawn: tf.where(drawn.ids > 5, drawn.ids, tf.zeros_like(drawn.ids)),
}
_TERMS: dict[str, _Build] = {
    "no term": lambda drawn: 0.0,
    "l2 of all": lambda drawn: 0.01 * sum(tf.nn.l2_loss(one) for one in v1.trainable_variables()),
    "l1": lambda drawn: 0.01 * sum(tf.reduce_sum(tf.abs(one)) for one in _parts(drawn)),
    "l2 of rows": lambda drawn: 0.1 * tf.nn.l2_loss(drawn.rows),
    "scores": lambda drawn: tf.reduce_mean(tf.nn.softmax(tf.matmul(drawn.rows, _one(drawn.w), transpose_b=True)) ** 2),
    "norm": lambda drawn: 0.01 * tf.norm(_one(drawn.w) + 0.1),
    "rate of a gradient": lambda drawn: tf.reduce_mean(tf.gradients(tf.tanh(drawn.out), drawn.rows)[0] ** 2),
}
_OPTIMIZERS: dict[str, _Build] = {
    "descent": lambda drawn: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda drawn: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=drawn.draw.random() < 0.5),
    "adagrad": lambda drawn: v1.train.AdagradOptimizer(0.1),
    "adam": lambda drawn: v1.train.AdamOptimizer(v1.train.exponential_decay(0.1, drawn.step_number, 2, 0.8)),
    "rmsprop": lambda drawn: v1.train.RMSPropOptimizer(0.05, momentum=0.5, centered=drawn.draw.random() < 0.5),
    "ftrl": lambda drawn: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "adadelta": lambda drawn: v1.train.AdadeltaOptimizer(1.0),
    "proximal": lambda drawn: v1.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.1),
    "dual": lambda drawn: v1.train.AdagradDAOptimizer(0.1, drawn.step_number),
}
_GRADIENTS: dict[str, _Build] = {
    "as they are": lambda drawn, pairs: pairs,
    "global norm": _globally,
    "own norms": lambda drawn, pairs: [(tf.clip_by_norm(one, 0.02), variable) for one, variable in pairs],
    "values": _values(lambda one: tf.clip_by_value(one, -0.01, 0.01)),
    "finite": _values(lambda one: tf.where(tf.math.is_finite(one), one, tf.zeros_like(one))),
    "dense": lambda drawn, pairs: [(tf.convert_to_tensor(one), variable) for one, variable in pairs],
    "dense and halved": lambda drawn, pairs: [(tf.convert_to_tensor(one) / 2, variable) for one, variable in pairs],
    "summed": _summed_by_hand,
    "signs": _values(tf.sign),
}
_AFTER: dict[str, _Build] = {
    "step": lambda drawn, step: step,
    "averages": _averaged,
    "shortened": _shortened,
    "read afterwards": _read_afterwards,
    "counted": lambda drawn, step: tf.group(step, v1.assign_add(drawn.steps, 1)),
}
_EVENTS: dict[str, _Build] = {
    "rows": _fetch(lambda drawn: [drawn.rows, drawn.out]),
    "variables": _fetch(lambda drawn: v1.global_variables()),
    "slots": _fetch(_slots),
    "late norm": _fetch(lambda drawn: [tf.norm(_one(drawn.w)), tf.reduce_sum(_one(drawn.w) * 2.0)]),
    "late lookup": _fetch(lambda drawn: tf.nn.embedding_lookup(_one(drawn.w), [3, 1, 3])),
    "late gradient": _fetch(
        lambda drawn: [tf.convert_to_tensor(one) for one in tf.gradients(drawn.loss, _parts(drawn)) if one is not None]
    ),
    "restored": _restored,
    "restored late": _restored_by_a_late_saver,
    "second session": _second_session,
    "imported": _imported,
    "frozen": _frozen,
    "begun again": lambda drawn, session: begin(session),
    "one initializer": lambda drawn, session: session.run(_parts(drawn)[0].initializer),
    "set late": _set_late,
    "set by load": lambda drawn, session: [one.load(np.ones(one.shape), session) for one in _parts(drawn)],
    "more training": _more_training,
    "asked": _fetch(lambda drawn: v1.report_uninitialized_variables()),
    "decayed": lambda drawn, session: session.run([one.assign(one * 0.9) for one in _parts(drawn)]),
}
