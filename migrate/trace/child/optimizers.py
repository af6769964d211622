"""Notes which ops optimizers make, of TensorFlow 1, Keras 2 and Keras 3."""

from __future__ import annotations

from typing import Any

from .imports import Finder
from .patching import wrap
from .state import Applied, Notes
from .steps import Steps

#: Modules of optimizers -> (class, method that updates variables). `keras.src` is of both versions.
CLASSES = {
    "tensorflow.python.training.optimizer": (("Optimizer", "apply_gradients"),),
    "tensorflow.python.keras.optimizer_v2.optimizer_v2": (("OptimizerV2", "apply_gradients"),),
    **dict.fromkeys(
        ("keras.src.optimizers.optimizer", "tf_keras.src.optimizers.optimizer"),
        (("_BaseOptimizer", "apply_gradients"), ("Optimizer", "apply_gradients")),
    ),
    **dict.fromkeys(
        ("keras.src.optimizers.legacy.optimizer_v2", "tf_keras.src.optimizers.legacy.optimizer_v2"),
        (("OptimizerV2", "apply_gradients"),),
    ),
    "keras.src.optimizers.base_optimizer": (("BaseOptimizer", "apply"),),
}


def install(notes: Notes, steps: Steps, finder: Finder) -> None:
    """Have optimizers tell when they update, as soon as their modules are imported."""

    def around(original: Any, optimizer: Any, *arguments: Any, **settings: Any) -> Any:
        return _apply(notes, steps, original, optimizer, arguments, settings)

    def patch(module: Any) -> None:
        for name, method in CLASSES[module.__name__]:
            if hasattr(module, name):
                wrap(getattr(module, name), method, around)

    for module in CLASSES:
        finder.after(module, patch)


def _apply(
    notes: Notes, steps: Steps, original: Any, optimizer: Any, arguments: tuple[Any, ...], settings: dict[str, Any]
) -> Any:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops

    stack = notes.applying()
    kind = type(optimizer)
    stack.append(f"{kind.__module__}.{kind.__qualname__}")
    eager = context.executing_eagerly()
    graph = None if eager else ops.get_default_graph()
    first = 0 if graph is None else _size(graph)
    try:
        done = original(optimizer, *arguments, **settings)
    finally:
        name = stack.pop()
        if graph is not None:
            notes.of(graph).applied.append(Applied(first, _size(graph), name))
    if not stack:
        steps.applied(eager)
    return done


def _size(graph: Any) -> int:
    """Return the number that the next op gets: TensorFlow's count begins with two nodes of its own."""
    return int(graph.num_operations()) + 2
