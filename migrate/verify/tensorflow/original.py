"""Worker that records the batches of the original and measures it from random weights in two precisions: `run(job)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.recording import STAGE, Recording
from migrate.verify.settings import Settings
from migrate.verify.tensorflow import float64_graph, measure
from migrate.verify.tensorflow.initial import variable_distribution
from migrate.verify.tensorflow.interceptor import TrainsEagerly, Watcher
from migrate.verify.tensorflow.names import describe, natural_state, variables_of
from migrate.verify.tensorflow.program import run_watched
from migrate.verify.weights import random_weights
from rewriter.graph.reasons import reason_of
from rewriter.nudging import nudged


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program for the compared number of training steps, then measure it in its session.

    With `job["nudge"]`, a seed of signs, only its steps are measured, over the `batches` and from the `state` of an
    earlier run, with the rows of looked-up variables moved in the last digit.
    """
    settings: Settings = job["settings"]
    result: dict[str, Any] = {}

    def take_over(session: Any, stock: Callable[..., Any], watcher: Watcher) -> None:
        result.update(_measured(job, settings, session, stock, watcher))

    watcher = Watcher(0 if "nudge" in job else settings.drawn, take_over)
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
    if "nudge" in job:
        moved = {name: nudged(job["state"][name], job["nudge"]) for name in looked_up}
        state = measure.State({**job["state"], **moved})
        moments, _ = measure.steps(stock, program, state, job["batches"][: settings.steps])
        return {"recording": Recording({}, steps={STAGE: moments})}
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
    )
    measured, _ = all_rungs(stock, program, state, batches, settings, recording)
    return {
        "program": program,
        "recording": measured,
        "batches": batches,
        "others": watcher.others(),
        "seeded": session.graph.seed is not None,
        "random": measure.random_again(stock, program, state, batches[0]),
        "double": _double(session, program, state, batches, settings),
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
) -> tuple[Recording, Mapping[str, Any]]:
    """Return the recording with passes and steps, and what tables hold after the last one."""
    passes = measure.passes(run, program, state, batches[: settings.batches])
    moments, snapshots = measure.steps(run, program, state, batches[: settings.steps])
    losses = [f"loss {name}" for name in program.losses]
    return replace(recording, passes=passes, steps={STAGE: moments}, losses=losses, varied=True), snapshots


def _double(session: Any, program: measure.Program, state: measure.State, batches: Any, settings: Settings) -> Any:
    """Return the passes and steps in float64, or a sentence why there are none."""
    try:
        with float64_graph.session_of(
            session.graph, program, sorted({name for batch in batches for name in batch})
        ) as wide:
            values = {name: float64_graph.widened(value) for name, value in state.variables.items()}
            fed = [
                {name: float64_graph.widened(np.asarray(value)) for name, value in batch.items()} for batch in batches
            ]
            return all_rungs(wide.run, program, measure.State(values), fed, settings, Recording({}))[0]
    except Exception as error:
        return f"no float64 reference, because the graph fails in float64: {reason_of(error)[:200]}"
