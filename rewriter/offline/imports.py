"""Imports graphs of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.graph.reasons import reason_of
from runtime import native


def _runs_itself(functions: Iterable[Any]) -> str:
    """Return a function of a library that is an op of itself, directly or indirectly; empty if there is none."""
    inner = {one.signature.name: {node.op for node in one.node_def} for one in functions}
    while ends := [name for name, ops in inner.items() if ops.isdisjoint(inner)]:
        for name in ends:
            del inner[name]
    return min(inner, default="")


@contextmanager
def imported(meta: Any) -> Iterator[tf.Graph]:
    """Import a MetaGraphDef and make it the current graph.

    Raises:
        ValueError: this TensorFlow cannot import it.
    """
    native.ops()  # register the ops: a graph that was rewritten before contains them
    if circle := _runs_itself(meta.graph_def.library.function):
        raise ValueError(
            f"the function `{circle}` of the graph calls itself, so TensorFlow would import it for ever; "
            "export the graph without this recursion"
        )
    copy = type(meta)()
    copy.CopyFrom(meta)
    if not copy.HasField("saver_def"):  # otherwise the import would add a Saver's ops
        copy.saver_def.CopyFrom(tf.compat.v1.train.SaverDef(save_tensor_name="-", restore_op_name="-"))
    with tf.Graph().as_default() as graph:
        try:
            tf.compat.v1.train.import_meta_graph(copy)
        except (ValueError, KeyError, TypeError, tf.errors.OpError) as error:
            raise ValueError(
                f"TensorFlow {tf.__version__} cannot import the graph: {reason_of(error)}; "
                "use the version that wrote it"
            ) from error
        _tf_private.number_functions_beyond(_numbers(meta.graph_def.library.function))
        yield graph


def _numbers(functions: Iterable[Any]) -> int:
    """Return the highest number at the end of function names that an earlier rewrite, in another process, added."""
    names = [one.signature.name for one in functions]
    ends = [name.rpartition("_")[2] for name in names if SCOPE.replace("/", "_") in name]
    return max((int(end) for end in ends if end.isdecimal()), default=0)
