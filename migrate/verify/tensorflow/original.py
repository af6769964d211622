"""Worker that records the batches of the original and measures it from random weights in two precisions: `run(job)`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.verify.recording import STAGE, Moment, Recording
from migrate.verify.settings import Settings
from migrate.verify.tensorflow import measure
from migrate.verify.tensorflow.interceptor import TrainsEagerly, Watcher
from migrate.verify.tensorflow.measure import Program
from migrate.verify.tensorflow.names import describe, natural_state, start_numbers, variable_distribution, variables_of
from migrate.verify.tensorflow.program import run_watched
from migrate.verify.weights import random_weights
from migrate.verify.workers import no_reference
from rewriter.graph.reasons import reason_of
from rewriter.graph.view import GraphView
from rewriter.graph.vocabularies import fills_of


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program for the compared number of training steps, then measure it in its session."""
    settings: Settings = job["settings"]
    result: dict[str, Any] = {}

    def take_over(session: Any, stock: Callable[..., Any], watcher: Watcher) -> None:
        result.update(_measured(job, settings, session, stock, watcher))

    watcher = Watcher(settings.drawn, take_over)
    try:
        run_watched(job["path"], job["directory"], watcher, settings.arguments)
    except TrainsEagerly:
        return {"eager": True, "traced": watcher.traced}
    return result


def _measured(
    job: Mapping[str, Any], settings: Settings, session: Any, stock: Callable[..., Any], watcher: Watcher
) -> dict[str, Any]:
    program = describe(watcher, session.graph, {})
    if not program.losses:
        raise MigrateError(
            f"{job['path']}: no loss was found; compute it with minimize, compute_gradients or tf.gradients"
        )
    looked_up = {name for name, found in program.lookups.items() if found}
    initial = natural_state(stock, program)
    distributions = {v.op.name: variable_distribution(stock, v) for v in variables_of(session.graph, program)}
    weights = random_weights(initial, _drawn(session.graph, program, looked_up), looked_up, settings.seed)
    state = measure.State({**initial, **weights})
    batches = watcher.batches
    recording = Recording(
        {name: initial[name] for name in program.trained},
        weights=state.variables,
        distributions=distributions,
        optimizers=program.optimizers,
        untrained=start_numbers(program, initial),
    )
    measured, _ = all_rungs(stock, program, state, batches, settings, recording)
    return {
        "program": program,
        "recording": measured,
        "batches": batches,
        "others": watcher.others(),
        "seeded": session.graph.seed is not None,
        "random": measure.random_again(stock, program, state, batches[0]),
        "double": _double(session, program, state, batches, settings, measured.steps[STAGE]),
    }


def _drawn(graph: Any, program: measure.Program, looked_up: set[str]) -> list[str]:
    """Return the variables that get random values: a constant matrix that others are combined with keeps its own."""
    trainable = {v.op.name for v in graph.get_collection(tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES)}
    return [name for name in program.trained if name in trainable | looked_up]


def all_rungs(
    run: Callable[..., Any],
    program: measure.Program,
    state: measure.State,
    batches: Any,
    settings: Settings,
    recording: Recording,
    lead: Sequence[Moment] = (),
) -> tuple[Recording, Mapping[str, Any]]:
    """Return the recording with passes and steps, and what tables hold after the last one."""
    passes = measure.passes(run, program, state, batches[: settings.batches])
    moments, snapshots = measure.steps(run, program, state, batches[: settings.steps], lead)
    losses = [f"loss {name}" for name in program.losses]
    return replace(recording, passes=passes, steps={STAGE: moments}, losses=losses, varied=True), snapshots


def _double(
    session: Any, program: Program, state: measure.State, batches: Any, settings: Settings, lead: Sequence[Moment]
) -> Any:
    """Return the passes and steps in float64, or a sentence why there are none."""
    try:
        with session_of(session.graph, program, sorted({name for batch in batches for name in batch})) as wide:
            values = {name: widened(value) for name, value in state.variables.items()}
            fed = [{name: widened(np.asarray(value)) for name, value in batch.items()} for batch in batches]
            return all_rungs(wide.run, program, measure.State(values), fed, settings, Recording({}), lead)[0]
    except Exception as error:
        return no_reference(reason_of(error))


v1: Any = tf.compat.v1
_FLOAT, _DOUBLE = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum


@contextlib.contextmanager
def session_of(graph: tf.Graph, program: Program, fed: Sequence[str]) -> Iterator[Any]:
    """Yield a session on a float64 copy of the measured part of a graph; fed tensors keep their names."""
    sources = [graph.get_operation_by_name(name.partition(":")[0]) for name in fed]
    types = {op.name: [tensor.dtype.as_datatype_enum for tensor in op.outputs] for op in sources}
    whole = graph.as_graph_def()
    fills = fills_of(GraphView(whole))
    definition = _cut(whole, [*_wanted(program), *fills], types)
    for node in [*definition.node, *(node for f in definition.library.function for node in f.node_def)]:
        _widen(node.attr)
    for function in definition.library.function:
        for argument in [*function.signature.input_arg, *function.signature.output_arg]:
            argument.type = _DOUBLE if argument.type == _FLOAT else argument.type
    with tf.Graph().as_default() as wide:
        tf.graph_util.import_graph_def(definition, name="")
        with v1.Session(graph=wide) as session:
            session.run(fills)
            yield session


def widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return float32 values as float64; other types are returned unchanged."""
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _wanted(program: Program) -> list[str]:
    names = [*program.losses, *program.train]
    for variable in program.variables.values():
        names += [variable.initializer, variable.assigned, variable.value]
    for gradient in program.gradients.values():
        names += [gradient] if isinstance(gradient, str) else list(gradient)
    names += [name for found in program.lookups.values() for name in found]
    return sorted({name.partition(":")[0] for name in names})


def _cut(definition: Any, wanted: list[str], sources: Mapping[str, Sequence[int]]) -> Any:
    """Return the subgraph that the wanted ops need; ops of `sources`, with output types, become placeholders."""
    for node in definition.node:
        if node.name in sources:
            del node.input[:]
        else:
            kept = [name for name in node.input if not (name.startswith("^") and name[1:] in sources)]
            node.ClearField("input")
            node.input.extend(kept)
    result = v1.graph_util.extract_sub_graph(definition, wanted)
    for node in result.node:
        if node.name in sources:
            _become_placeholder(node, sources[node.name])
    return result


def _become_placeholder(node: Any, types: Sequence[int]) -> None:
    """Replace an op by a placeholder, or by an op without inputs if it has several outputs."""
    if node.op == "Placeholder":
        return
    node.ClearField("attr")
    if len(types) == 1:
        node.op = "Placeholder"
        node.attr["dtype"].type = types[0]
        return
    node.op = "Unstage"  # any op without inputs and with a list of output types; it never runs
    node.attr["dtypes"].list.type.extend(types)
    node.attr["capacity"].i = node.attr["memory_limit"].i = 0


def _widen(attributes: Any) -> None:
    for value in attributes.values():
        kind = value.WhichOneof("value")
        if kind == "type" and value.type == _FLOAT:
            value.type = _DOUBLE
        elif kind == "list":
            types = [_DOUBLE if t == _FLOAT else t for t in value.list.type]
            del value.list.type[:]
            value.list.type.extend(types)
        elif kind == "tensor" and value.tensor.dtype == _FLOAT:
            wide = tf.make_ndarray(value.tensor).astype(np.float64)
            value.tensor.CopyFrom(tf.make_tensor_proto(wide))
