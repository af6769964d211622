"""Finds the tensor names that a measurement needs in a watched graph (runs in a TensorFlow process)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.verify.distributions import Distribution
from migrate.verify.tensorflow.interceptor import Watcher, ancestors
from migrate.verify.tensorflow.measure import Program, TableNames, VariableNames
from migrate.verify.tensorflow.partitioned_variables import Parted, by_blocks, by_turns
from rewriter.apply.live import MOVED
from rewriter.table_settings import names_of
from runtime import Table, native, tables
from runtime.initializers import initializer_text

v1: Any = tf.compat.v1
_POOLED = frozenset(f"SparseSegment{pooled}" for pooled in ("Sum", "Mean", "SqrtN"))
_LOOKUPS = frozenset({"ResourceGather", "ResourceGatherNd", "GatherV2", "Gather", "GatherNd", *_POOLED})
#: Types of the last op of a pooled lookup.
_ENDS = frozenset({"SegmentSum", "SegmentMean", "RealDiv", "DivNoNan", "Mul", "Select", "SelectV2", *_POOLED})
_PASS = frozenset({"Identity", "ReadVariableOp", "Cast"})


def describe(watcher: Watcher, graph: tf.Graph, table_names: dict[str, TableNames]) -> Program:
    """Return the names of everything that is measured in a graph whose tables `TablePreparer` has prepared."""
    anchors = {id(t.variable) for t in tables(graph)}
    gone = MOVED.get(graph, ())  # by `rewriter.install`, which keeps them in the collections of the program
    own = [v for v in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES) if id(v) not in anchors]
    variables = [v for v in own if v.op.name not in gone]
    before_loss = ancestors(loss.op for loss in watcher.losses_of_step())
    trainable = [v for v in graph.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES) if v.op.name not in gone]
    trainable += _untrained(variables, {v.op.name for v in trainable}, before_loss)
    pairs = [(gradient, variable) for gradient, variable in watcher.gradients() if variable.op.name not in gone]
    return Program(
        variables={v.op.name: _variable(graph, v) for v in variables},
        trained={v.op.name: tuple(v.shape.as_list()) for v in trainable},
        losses=[loss.name for loss in watcher.losses_of_step()],
        train=[op.name for op in watcher.train_ops],
        gradients=_gradients(pairs),
        lookups={v.op.name: _lookups(v, before_loss) for v in trainable},
        optimizers={v.op.name: watcher.optimizer_of(v) for _, v in pairs},
        tables=table_names,
        parts=_parts(trainable, before_loss),
        in_graph=frozenset(table_names) & names_of(gone),
    )


def _untrained(variables: Iterable[tf.Variable], others: set[str], before_loss: set[tf.Operation]) -> list[tf.Variable]:
    """Return the vectors and matrices that the loss looks rows up in, and that are not trained: tables may be, too.

    A lookup may read what is computed of several matrices, such as a table times a mask.
    """
    rest = [v for v in variables if v.op.name not in others and v.dtype.is_floating and v.shape.rank in (1, 2)]
    read = ancestors(op.inputs[0].op for op in before_loss if op.type in _LOOKUPS)
    return [variable for variable in rest if _source(variable) in read]


def variables_of(graph: tf.Graph, program: Program) -> list[tf.Variable]:
    """Return the variables of a graph that are trained or looked up."""
    return [v for v in graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES) if v.op.name in program.trained]


def _parts(trainable: Iterable[tf.Variable], before_loss: set[tf.Operation]) -> dict[str, Parted]:
    """Return the variables that are partitioned along their first dimension, by their full names."""
    groups: dict[str, list[tuple[int, tf.Variable]]] = {}
    for variable in trainable:
        info = variable._get_save_slice_info()
        if info is not None and not any(info.var_offset[1:]) and info.var_shape[1:] == info.full_shape[1:]:
            groups.setdefault(info.full_name, []).append((info.var_offset[0], variable))
    parted = {}
    for name, members in groups.items():
        parts = [variable for _, variable in sorted(members, key=lambda member: member[0])]
        names, rows = [part.op.name for part in parts], [part.shape.as_list()[0] for part in parts]
        turns = any(_goes_round(op, before_loss) for part in parts for op in _readers(part))
        parted[name] = (by_turns if turns else by_blocks)(names, rows)
    return parted


def _goes_round(lookup: tf.Operation, wanted: set[tf.Operation]) -> bool:
    """True for a lookup in one partition whose ids are assigned by remainder (`mod`)."""
    dealt = [op for op in ancestors([lookup]) if op.type == "DynamicPartition"] if lookup in wanted else []
    nearest = max(dealt, key=lambda op: len(ancestors([op])), default=None)
    if nearest is None:
        return False
    place = nearest.inputs[1].op
    while place.type in _PASS:
        place = place.inputs[0].op
    return bool(place.type == "FloorMod")


def _variable(graph: tf.Graph, variable: tf.Variable) -> VariableNames:
    value = graph.as_graph_element(variable)
    return VariableNames(variable.initializer.name, initial_value(variable).name, value.name)


def _gradients(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    gradients: dict[str, Any] = {}
    for gradient, variable in pairs:
        name, number = variable.op.name, 2
        while name in gradients:  # a variable with several gradients, as in adversarial training
            name, number = f"{variable.op.name} #{number}", number + 1
        slices = isinstance(gradient, tf.IndexedSlices)
        gradients[name] = (gradient.indices.name, gradient.values.name) if slices else gradient.name
    return gradients


def _lookups(variable: tf.Variable, wanted: set[tf.Operation]) -> tuple[str, ...]:
    """Return the tensors that are looked up in a variable and that the loss depends on, in order of creation."""
    lookups = [op for op in _readers(variable) if op in wanted]
    order = {op: i for i, op in enumerate(variable.graph.get_operations())}
    ends = [_end(op, wanted) for op in sorted(lookups, key=order.__getitem__) if op.outputs[0].dtype.is_floating]
    return tuple(op.outputs[0].name for op in ends)


def _readers(variable: tf.Variable) -> list[tf.Operation]:
    """Return the lookup ops that read a variable directly."""
    readers = []
    pending = list(_source(variable).outputs[0].consumers())
    seen = set(pending)
    while pending:
        op = pending.pop()
        if op.type in _LOOKUPS:
            readers.append(op)
        elif op.type in _PASS:
            fresh = {user for out in op.outputs for user in out.consumers()} - seen
            seen |= fresh
            pending += fresh
    return readers


def _source(variable: tf.Variable) -> tf.Operation:
    """Return the op that every read of a variable begins with."""
    return variable.handle.op if hasattr(variable, "handle") else variable.op


def _end(lookup: tf.Operation, wanted: set[tf.Operation]) -> tf.Operation:
    """Return the last op of a pooled lookup, which has the name of its scope, or else the lookup itself."""
    parts = lookup.name.split("/")
    outer = {"/".join(parts[:length]) for length in range(1, len(parts))}
    ends = [op for op in wanted if op.name in outer and op.type in _ENDS and lookup in ancestors([op])]
    return min(ends, key=lambda op: len(op.name), default=lookup)


class TablePreparer:
    """Adds ops that fill and read each table; called after each optimizer step, as the graph may be finalized later."""

    def __init__(self) -> None:
        self._tables: dict[str, tuple[Table, TableNames]] = {}

    def __call__(self, graph: tf.Graph | None = None) -> None:
        """Add the ops for new tables of a graph, by default the current one."""
        graph = graph or v1.get_default_graph()
        for table in [] if graph.finalized else tables(graph):
            if table.table_name not in self._tables:
                with graph.as_default(), tf.control_dependencies(None), tf.name_scope("verify/"):
                    self._tables[table.table_name] = table, _with_ops(table)

    def described(self, watcher: Watcher) -> dict[str, TableNames]:
        """Return the names of all prepared tables, with their lookups that the losses depend on."""
        wanted = ancestors(loss.op for loss in watcher.losses_of_step())
        return {
            name: replace(names, lookups=tuple(op.outputs[0].name for op in table.lookups if op in wanted))
            for name, (table, names) in self._tables.items()
        }


def _with_ops(table: Table) -> TableNames:
    keys, rows = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, table.dim])
    return TableNames(
        name=table.table_name,
        dim=table.dim,
        distribution=table_distribution(table) if table.first_rows is None else "",
        reset=table.variable.initializer.name,
        keys=keys.name,
        rows=rows.name,
        fill=table.import_rows(keys + table.first_key, rows).name,
        peek=native.ops().rec_lookup(table.handle, table.variable.tensor(), keys, []).name,
        snapshot=tuple(tensor.name for tensor in table.snapshot()),
        buckets=table.arguments.base_buckets,
    )


def natural_state(run: Any, program: Program) -> dict[str, Any]:
    """Run the initializers of all variables and return the values."""
    run([names.initializer for names in program.variables.values()])
    return {name: np.asarray(value) for name, value in run({n: v.value for n, v in program.variables.items()}).items()}


def start_numbers(program: Program, initial: Mapping[str, Any]) -> dict[str, float]:
    """Return the number that each variable that is not trained begins with; NaN where these are several, or words."""
    numbers = {}
    for name, value in initial.items():
        if name not in program.trained:
            alike = value.size and value.dtype.kind in "biuf" and (value == value.flat[0]).all()
            numbers[name] = float(value.flat[0]) if alike else math.nan
    return numbers


_DRAWS = {
    "RandomUniform": "uniform",
    "RandomStandardNormal": "normal",
    "TruncatedNormal": "truncated_normal",
    "StatelessRandomUniformV2": "uniform",
    "StatelessRandomNormalV2": "normal",
    "StatelessTruncatedNormalV2": "truncated_normal",
}


def initial_value(variable: tf.Variable) -> tf.Tensor:
    """Return the tensor that the variable's initializer op assigns."""
    return variable.initializer.inputs[1]


def variable_distribution(run: Any, variable: tf.Variable) -> Distribution | None:
    """Return the distribution of a variable with a random initial value, None for others.

    The output of the random op is fed with 0, 1 and 2, which yields a and b of an initial value a·random + b.
    """
    value = initial_value(variable)
    draws = [op for op in ancestors([value.op]) if op.type in _DRAWS]
    if len(draws) != 1 or not np.prod(variable.shape.as_list()):
        return None
    output, shape = draws[0].outputs[0], variable.shape.as_list()
    b, ab, aab = (
        run(value, {output: np.full(shape, x, output.dtype.as_numpy_dtype)}).reshape(-1) for x in (0.0, 1.0, 2.0)
    )
    affine = np.all(b == b[0]) and np.all(ab == ab[0]) and np.allclose(aab - b, 2 * (ab - b), rtol=1e-5)
    if not affine:
        return None
    kind = _DRAWS[draws[0].type]
    low = float(b[0])
    return Distribution(kind, low, float(ab[0])) if kind == "uniform" else Distribution(kind, low, float(ab[0]) - low)


def table_distribution(table: Any) -> str:
    """Return the initializer of a table as the native text, see `migrate.verify.distributions.parse_blocks`."""
    return initializer_text(table.emb_initializer, table.device_vocabulary_size, table.dim, table.init_param)
