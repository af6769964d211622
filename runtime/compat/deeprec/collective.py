"""DeepRec's `CollectiveStrategy`: synchronous training of ranks that share EmbeddingVariables and reduce the rest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.changes import Changes

v1: Any = tf.compat.v1
_KINDS = ("sok", "hb")
_ALONE = ("Optimizer", "SyncReplicasOptimizer")


class CollectiveStrategy:
    """Connects the ranks that `python -m runtime.launch --engine horovod` started; one process alone trains as usual.

    EmbeddingVariables are shared between ranks, each key on the rank key mod ranks. Every rank has its copy of other
    variables. The kinds of `COLLECTIVE_STRATEGY`, "sok" and "hb", are one here.
    """

    def __init__(self) -> None:
        """Connect the ranks; call it before TensorFlow runs any op.

        Raises:
            ValueError: `COLLECTIVE_STRATEGY` is of another kind.
            RanksError: the ranks cannot be connected.
        """
        kind = os.environ.get("COLLECTIVE_STRATEGY", "sok")
        if kind not in _KINDS:
            raise ValueError(f"the environment variable COLLECTIVE_STRATEGY={kind} must be one of {_KINDS}")
        ranks.start()

    @contextlib.contextmanager
    def scope(self) -> Iterator[CollectiveStrategy]:
        """Let optimizers of `tf.train` that are made inside train all ranks alike.

        As in DeepRec, the learning rate is multiplied by the number of ranks, and gradients are means over the ranks.
        """
        changes = Changes("runtime.compat.deeprec")
        try:
            if ranks.size() > 1:
                for module in (tf.train, v1.train):
                    for name, kind in list(vars(module).items()):
                        if isinstance(kind, type) and issubclass(kind, v1.train.Optimizer) and name not in _ALONE:
                            changes.set(module, name, _reducing(kind))
            yield self
        finally:
            changes.undo()

    @contextlib.contextmanager
    def embedding_scope(self) -> Iterator[CollectiveStrategy]:
        """Mark EmbeddingVariables that ranks share; all are shared."""
        yield self

    def world_size(self) -> int:
        """Return the number of ranks."""
        return ranks.size()

    def rank(self) -> int:
        """Return the number of this rank, from 0."""
        return ranks.rank()

    def estimator(self, model_fn: Any, **settings: Any) -> Any:
        """Return a tf.estimator.Estimator, which also has `train_and_evaluate(train_spec, eval_spec)`.

        Raises:
            ValueError: there are several ranks.
        """
        _refuse_ranks("estimator", "train in a MonitoredTrainingSession inside scope()")

        class Estimator(v1.estimator.Estimator):  # type: ignore[misc]
            """Stock TensorFlow's, whose `train_and_evaluate` is a function."""

            def train_and_evaluate(self, train_spec: Any, eval_spec: Any) -> Any:
                return v1.estimator.train_and_evaluate(self, train_spec, eval_spec)

        return Estimator(model_fn, **settings)

    def export_saved_model(
        self,
        savedmodel_dir: str,
        checkpoint_dir: str | None = None,
        signature_def_fn: Callable[[], Any] | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        clear_devices: bool = True,
        strip_default_attrs: bool = True,
    ) -> None:
        """Write a SavedModel of the graph that `signature_def_fn` builds, with the values of a checkpoint.

        `checkpoint_dir` is a checkpoint's path, or a folder, whose latest one is used.

        Raises:
            ValueError: there are several ranks, there is no function or no checkpoint, or `assets_extra` is given.
        """
        _refuse_ranks("export_saved_model", "export in one process, from the checkpoint of all ranks")
        if assets_extra is not None:
            raise ValueError("`assets_extra` of export_saved_model is not supported: copy the files beside the model")
        path = str(checkpoint_dir) if checkpoint_dir and v1.train.checkpoint_exists(str(checkpoint_dir)) else None
        path = path or (tf.train.latest_checkpoint(str(checkpoint_dir)) if checkpoint_dir else None)
        if signature_def_fn is None or path is None:
            raise ValueError(
                f"export_saved_model got the checkpoint {checkpoint_dir!r} and the function {signature_def_fn!r}: "
                "give a checkpoint, or a folder that has one, and a function that builds the graph and returns its "
                "signature"
            )
        with tf.Graph().as_default(), v1.Session() as session:
            signatures = signature_def_fn()
            if not isinstance(signatures, dict):
                signatures = {v1.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
            v1.train.Saver().restore(session, path)
            session.run(v1.tables_initializer())
            builder = v1.saved_model.Builder(str(savedmodel_dir))
            builder.add_meta_graph_and_variables(
                session,
                [v1.saved_model.tag_constants.SERVING],
                signatures,
                clear_devices=clear_devices,
                main_op=v1.tables_initializer(),
                strip_default_attrs=strip_default_attrs,
            )
            builder.save(as_text)


def _reducing(stock: Any) -> Any:
    class Reducing(stock):  # type: ignore[misc]
        """An optimizer whose gradients are means over the ranks."""

        def __init__(self, learning_rate: Any = 0.001, *args: Any, **kwargs: Any) -> None:
            super().__init__(learning_rate * ranks.size(), *args, **kwargs)

        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            return ranks.reduced_gradients(super().compute_gradients(*args, **kwargs), "mean")

    Reducing.__name__ = Reducing.__qualname__ = stock.__name__
    return Reducing


def _refuse_ranks(name: str, remedy: str) -> None:
    if ranks.size() > 1:
        raise ValueError(f"{name} of a CollectiveStrategy of {ranks.size()} ranks is not supported: {remedy}")
