"""`create_table`, what else makes a table, and the tables of a graph."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.ranks.process_group import refuse_several
from runtime.storage.tiers import Storage
from runtime.table import arguments as table_arguments
from runtime.table import in_memory_evaluator
from runtime.table.anchor import HASHTABLE_COLLECTION, Anchor, EagerAnchor, GraphAnchor
from runtime.table.arguments import TableArguments
from runtime.table.table import Table

_eager_tables: list[weakref.ref[Table]] = []


@_tf_private.as_written
def create_table(
    key_dtype: Any,
    dim: Any,
    name: str,
    emb_initializer: Any,
    device_vocabulary_size: int = 1,
    host_vocabulary_size: int = 0,
    ssd_vocabulary_size: int = 0,
    ssd_data_path: Sequence[str] = table_arguments.SSD_DATA_PATH,
    is_save: bool = True,
    is_dp: bool = False,
    init_param: float = 1.0,
    all2all_gradients_op: str = "sum_gradients",
    enable_merge: bool = False,
    padding_keys: int | Sequence[int] | None = None,
    padding_keys_mask: bool = False,
    padding_keys_len: int | None = None,
    value_dtype: Any = tf.float32,
    shard_num: int = 1,
    fusion_optimizer_var: bool = True,
    hashtable_threshold: int = 0,
    max_bytes: int | None = None,
    when_full: str = "error",
    storage: Storage | None = None,
    placement: str = "distributed",
) -> Table:
    """Create a table of float32 rows of width `dim`, eager or in the current v1 graph; arguments are Rec SDK's.

    `device_vocabulary_size` is a reserve hint in rows, and the fan of initializers that need one; the table grows
    beyond it, up to `max_bytes` of rows and index, where a lookup fails with ResourceExhaustedError, or with
    `when_full="evict"` takes the place of the rows that were not used for longest. With `storage`, rows that do not
    fit in memory lie in tiers below it. `placement` says which of several ranks (runtime.ranks) has a row:
    "distributed" is key mod ranks, "localized:0" rank 0, and of "replicated", also by `is_dp=True`, each has a copy.
    `all2all_gradients_op` is "sum_gradients" over ranks, or divides these sums by their number. `init_param` multiplies
    all initial values. Under a variable scope with reuse, a known name gives the table that exists. The log says when
    `ssd_data_path`, `shard_num`, `fusion_optimizer_var` or `hashtable_threshold` is given, which have no effect.

    Raises:
        ValueError: an argument of a wrong type, range or combination, or of a feature that is not there yet; a name
            that the graph has already; a reused table whose dim or key dtype differs.
        RuntimeError: called inside a `tf.function`, which would make one at every trace, or in eager mode after
            `init(use_dynamic_expansion=True)`.
    """
    return made(table_arguments.checked(dict(locals())))


class Anchors(NamedTuple):
    """What makes the variable that stands for a table."""

    eager: Callable[[Table], Anchor] = EagerAnchor
    graph: Callable[[Table], Anchor] = GraphAnchor


PLAIN = Anchors()


def made(arguments: TableArguments, kind: type[Table] = Table, anchors: Anchors = PLAIN) -> Table:
    """Make a table, or one of a subclass, for a façade that has checked the arguments itself.

    Raises:
        ValueError, RuntimeError: see `create_table`.
    """
    traced = not tf.executing_eagerly()
    with tf.init_scope():
        if tf.executing_eagerly():
            if traced:
                raise RuntimeError(
                    f"create_table({arguments.name!r}) was called inside a tf.function: create the table once, outside"
                )
            table = kind(arguments, anchors.eager)
            _eager_tables.append(weakref.ref(table, _eager_tables.remove))
            return table
        reuse = tf.compat.v1.get_variable_scope().reuse
        known = {table.table_name: table for table in tables()}.get(arguments.name)
        if known is not None:
            return _reused(known, arguments, bool(reuse))
        _check_new(arguments.name, reuse)
        with new_in_graph():
            return kind(arguments, anchors.graph)


@contextlib.contextmanager
def new_in_graph() -> Iterator[None]:
    """Let the table of a graph that is made inside stand apart from the scopes that are open.

    Estimators that evaluate in memory are told to carry its rows.
    """
    in_memory_evaluator.watch()
    with tf.compat.v1.name_scope(None), tf.control_dependencies(None):
        yield


def tables(graph: tf.Graph | None = None) -> list[Table]:
    """Return the tables of `graph` (default: the current graph, or the eager tables) in order of creation."""
    with tf.init_scope():
        if graph is None and tf.executing_eagerly():
            return [table for table in (reference() for reference in _eager_tables) if table is not None]
    if graph is not None:
        _validation.kind("graph", graph, tf.Graph, "a tf.Graph or None")
    graph = graph or tf.compat.v1.get_default_graph()
    return [anchor.table for anchor in graph.get_collection(HASHTABLE_COLLECTION) if isinstance(anchor, Anchor)]


def _reused(known: Table, arguments: TableArguments, reuse: bool) -> Table:
    if not reuse:
        raise ValueError(
            f"the table `{arguments.name}` exists in this graph already: give the second another name, or create it "
            "under tf.compat.v1.variable_scope(..., reuse=tf.compat.v1.AUTO_REUSE)"
        )
    if (known.dim, known.key_dtype) != (arguments.dim, arguments.key_dtype):
        raise ValueError(
            f"the table `{arguments.name}` is reused with dim {arguments.dim}, {arguments.key_dtype.name} but has dim "
            f"{known.dim}, {known.key_dtype.name}: make them equal or choose another name"
        )
    return known


def _check_new(name: str, reuse: Any) -> None:
    if reuse is True:
        raise ValueError(
            f"the table `{name}` is not there and the variable scope has reuse=True: create it first, or use AUTO_REUSE"
        )
    try:
        tf.compat.v1.get_default_graph().get_operation_by_name(name)
    except KeyError:
        return
    raise ValueError(f"the graph has an operation `{name}` already: give the table another name")


def table_for_variable(
    name: str,
    rows: int,
    dim: int,
    below: str,
    first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]],
    initializer: Any = None,
) -> Table:
    """Create the table that takes the place of a variable [rows, dim] of the current graph, under its name.

    `below` is the scope of its ops, since the variable has its name. The init op fills it with `first_rows`; rows of
    ids beyond them start by `initializer`, with None at zero.

    Raises:
        RanksError: there are several ranks, and what looks up in the rewritten graph asks none of them.
    """
    refuse_several(name, "takes the place of a variable in a rewritten graph")
    new = tf.compat.v1.zeros_initializer() if initializer is None else initializer
    arguments = TableArguments(tf.int64, dim, name, new, rows, is_save=True, init_param=1.0)
    with new_in_graph():
        return Table(arguments, GraphAnchor, below, first_rows)
