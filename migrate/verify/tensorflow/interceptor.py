"""Watches a TensorFlow v1 training program: its loss, gradients, training step and batches.

The program is not edited. Methods of optimizers and sessions are replaced while it runs; after enough training steps,
the watcher uses the session for its measurements and stops the program.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from migrate.verify.replacing import around, replaced
from migrate.verify.tensorflow import branches
from rewriter._tf_private_sessions import elements_of
from rewriter.analysis.already_moved import SCOPE
from rewriter.proof.recording import fed_values

v1: Any = tf.compat.v1

#: Called with (session, its original run method, watcher) once enough training steps were recorded.
TakeOver = Callable[[Any, Callable[..., Any], "Watcher"], None]


class Stop(BaseException):
    """Stops the watched program; a BaseException, so that the program does not catch it."""


class TrainsEagerly(Stop):
    """The program trains by a Keras optimizer outside of sessions, so there is no graph to watch."""


@dataclass
class Watcher:
    """What was recorded of a program."""

    limit: int  #: number of training steps to record; 0: take over before the first step
    take_over: TakeOver
    losses: list[Any] = field(default_factory=list)
    applied: list[tuple[Any, list[tuple[Any, Any]], Any]] = field(default_factory=list)  #: optimizer, pairs, op
    batches: list[dict[str, Any]] = field(default_factory=list)  #: tensor name -> value
    train_ops: list[Any] = field(default_factory=list)  #: of the first training step, and of all that are recorded
    fed: set[str] = field(default_factory=set)  #: names of the tensors that this step was fed
    traced: bool = False  #: whether a `tf.function` was called
    after_apply: Callable[[], None] = lambda: None
    ended: BaseException | None = None  #: what has ended the program; it may catch even that, by a bare `except`
    _depth: int = 0
    _trains: dict[Any, bool] = field(default_factory=dict)

    def gradients(self) -> list[tuple[Any, Any]]:
        """Return all (gradient, variable) pairs that the step applies and that have a gradient, in order."""
        inside = ancestors(self.train_ops)
        taken = [pairs for _, pairs, done in self.applied if _op(done) in inside]
        return [pair for pairs in taken for pair in pairs if pair[0] is not None]

    def losses_of_step(self) -> list[Any]:
        """Return the losses that can be computed from what the step was fed."""
        needed = ((loss, source_tensors([loss.op], self.fed)) for loss in self.losses)
        return [
            loss
            for loss, tensors in needed
            if not any(one.op.type == "Placeholder" and one.name not in self.fed for one in tensors)
        ]

    def others(self) -> int:
        """Return how many optimizers the step does not run, as the other side's in adversarial training."""
        inside, graph = ancestors(self.train_ops), self.train_ops[0].graph
        ops = [_op(done) for _, _, done in self.applied]
        return sum(op not in inside for op in ops if op.graph is graph)

    def source_tensors(self) -> list[tf.Tensor]:
        """Return the tensors from which the training step and its losses are computed."""
        return source_tensors([*self.train_ops, *(loss.op for loss in self.losses_of_step())], self.fed)

    def optimizer_of(self, variable: Any) -> str:
        """Return the class name of the optimizer that trains a variable."""
        names = [type(o).__name__ for o, pairs, _ in self.applied if any(v is variable for _, v in pairs)]
        return names[0] if names else ""

    def computing(self, stock: Callable[..., Any], optimizer: Any, loss: Any, *rest: Any, **named: Any) -> Any:
        """Call an optimizer's compute_gradients."""
        self._saw_loss(loss)
        return stock(optimizer, loss, *rest, **named)

    def differentiating(self, stock: Callable[..., Any], ys: Any, *rest: Any, **named: Any) -> Any:
        """Call tf.gradients."""
        self._saw_loss(ys[0] if isinstance(ys, list | tuple) else ys)
        return stock(ys, *rest, **named)

    def calling(self, stock: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a tf.function."""
        self.traced = True
        return stock(*args, **named)

    def _saw_loss(self, loss: Any) -> None:
        if isinstance(loss, tf.Tensor) and all(loss is not known for known in self.losses):
            self.losses.append(loss)

    def running(
        self, stock: Callable[..., Any], session: Any, fetches: Any, feed_dict: Any = None, *rest: Any, **named: Any
    ) -> Any:
        """Make a call of `session.run`; record a training step, and take over after the last one."""
        if self.ended is not None:
            raise self.ended
        elements = elements_of(session.graph, fetches)
        fetched = (one.op if isinstance(one, tf.Tensor) else one for one in elements)
        train = [op for op in fetched if self._is_training(op)]
        if not train:
            return stock(session, fetches, feed_dict, *rest, **named)
        fed = fed_values(feed_dict)
        if not self.train_ops:
            self.train_ops, self.fed = train, set(fed)
        if set(train).isdisjoint(self.train_ops):  # another step, that is not compared
            return stock(session, fetches, feed_dict, *rest, **named)
        if self.limit:
            wanted = source_tensors([*train, *(loss.op for loss in self.losses_of_step())], set(fed))
            drawn = [t for t in wanted if t.name not in fed and t.op.type != "Placeholder"]
            result, values = stock(session, (fetches, drawn), feed_dict, *rest, **named)
            names = {tensor.name for tensor in wanted}
            batch = {name: value for name, value in fed.items() if name in names}
            self.batches.append(batch | {t.name: value for t, value in zip(drawn, values, strict=True)})
            if len(self.batches) < self.limit:
                return result
        try:
            self.take_over(session, lambda *arguments: stock(session, *arguments), self)
            self.ended = Stop()
        except Exception as error:
            self.ended = error
        raise self.ended

    def _is_training(self, op: Any) -> bool:
        if op not in self._trains:
            updates = {_op(done) for _, _, done in self.applied}
            self._trains[op] = not updates.isdisjoint(ancestors([op]))
        return self._trains[op]

    def applying(self, stock: Callable[..., Any], optimizer: Any, grads_and_vars: Any, *rest: Any, **named: Any) -> Any:
        """Call an optimizer's apply_gradients; record the outermost call."""
        kept = list(grads_and_vars)
        self._depth += 1
        try:
            done = stock(optimizer, kept, *rest, **named)
        finally:
            self._depth -= 1
        if not self._depth:
            self.applied.append((optimizer, kept, done))
            self._trains.clear()
            self.after_apply()
        return done


def _op(done: Any) -> Any:
    return done.op if isinstance(done, tf.Tensor) else done


@contextlib.contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Send the program's calls of TensorFlow to the watcher while the block runs."""
    optimizer, session = v1.train.Optimizer, v1.Session.__mro__[1]
    kinds = [kind for kind in subclasses(optimizer) if "apply_gradients" in vars(kind)]
    with (
        around(
            *((kind, "apply_gradients", watcher.applying) for kind in kinds),
            (optimizer, "compute_gradients", watcher.computing),
            *((module, "gradients", watcher.differentiating) for module in (tf, v1)),
            (session, "run", watcher.running),
            *((kind, "apply_gradients", _eagerly) for kind in keras_optimizers()),
            (type(tf.function(lambda: None)), "__call__", watcher.calling),
        ),
        writing_nothing(),
        branches.drawing_alike(),
    ):
        yield


def writing_nothing() -> contextlib.AbstractContextManager[None]:
    """Prevent the program from writing checkpoints and events, and from restoring checkpoints."""
    model, saver, objects = tf.keras.Model, v1.train.Saver, tf.train.Checkpoint
    silent = ((model, "save"), (model, "save_weights"), (tf.train.CheckpointManager, "save"), (saver, "restore"))
    restoring = ((model, "load_weights"), (objects, "restore"), (objects, "read"))
    return replaced(
        (saver, "save", _saved("save_path")),
        *((objects, name, _saved("file_prefix")) for name in ("save", "write")),
        *((owner, name, lambda *_, **__: None) for owner, name in silent),
        *((owner, name, lambda *_, **__: _Status()) for owner, name in restoring),
        *(
            (module, "create_file_writer", lambda *_, **__: tf.summary.create_noop_writer())
            for module in (tf.summary, tf.compat.v2.summary)
        ),
    )


def _saved(name: str) -> Callable[..., Any]:
    """Return a function in place of one that saves: it returns the path that it is given last, or by this name."""
    paths = (str, bytes, os.PathLike)
    return lambda *args, **named: named[name] if name in named else [a for a in args if isinstance(a, paths)][-1]


class _Status:
    """A stand-in for the status of a restore; every method call on it succeeds."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self


def keras_optimizers() -> list[Any]:
    """Return all classes of Keras optimizers that define apply_gradients."""
    known = tf.keras.optimizers
    bases = [known.Optimizer, getattr(getattr(known, "legacy", None), "Optimizer", known.Optimizer)]
    kinds = dict.fromkeys(kind for base in bases for kind in (*base.__mro__, *subclasses(base)))
    return [kind for kind in kinds if "apply_gradients" in vars(kind)]


def _eagerly(stock: Callable[..., Any], *args: Any, **named: Any) -> Any:
    if v1.executing_eagerly_outside_functions():
        raise TrainsEagerly
    return stock(*args, **named)


def subclasses(kind: Any) -> list[Any]:
    """Return a class and all of its subclasses."""
    return [kind, *(below for child in kind.__subclasses__() for below in subclasses(child))]


#: Ops that yield data or random values; feeding them gives both programs the same inputs.
_SOURCES = frozenset(
    {
        *("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"),
        *("IteratorGetNext", "IteratorGetNextSync", "OneShotIterator"),
        # A dataset gives sparse and ragged tensors as variants, which are no arrays; these ops make tensors of them.
        *("DeserializeSparse", "RaggedTensorFromVariant"),
        *("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2", "ReaderReadV2", "ReaderReadUpToV2"),
        *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "RandomShuffle"),
        *("RandomGamma", "RandomPoissonV2", "Multinomial", "LogUniformCandidateSampler", "UniformCandidateSampler"),
    }
)


def ancestors(ops: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Return the ops and all ops that they depend on."""
    reached = set(ops)
    pending = list(reached)
    while pending:
        current = pending.pop()
        for before in [tensor.op for tensor in current.inputs] + list(current.control_inputs):
            if before not in reached:
                reached.add(before)
                pending.append(before)
    return reached


def source_tensors(ops: Iterable[tf.Operation], fed: Collection[str] = ()) -> list[tf.Tensor]:
    """Return the nearest source tensors that the ops depend on, sorted by name.

    What a branch or a loop of a v1 graph draws can be neither fetched nor fed, and is left out. A tensor that the
    program feeds, one of the names `fed`, is a source as well: what would compute it does not run. What the rewriter
    has built is none: its placeholders have defaults, the rows and their numbers.
    """
    tensors: dict[str, tf.Tensor] = {}
    seen = set(ops)
    pending = list(seen)
    while pending:
        current = pending.pop()
        sources = [t for t in current.inputs if t.name in fed or _is_source(t.op)]
        tensors |= {t.name: t for t in sources if t.graph.is_fetchable(t.op)}
        for before in [t.op for t in current.inputs if t.name not in fed] + list(current.control_inputs):
            if before not in seen and not _is_source(before):
                seen.add(before)
                pending.append(before)
    return [tensors[name] for name in sorted(tensors)]


def _is_source(op: tf.Operation) -> bool:
    return op.type in _SOURCES and not op.name.startswith(SCOPE)
