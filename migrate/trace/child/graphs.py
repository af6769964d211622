"""Notes every graph and function that TensorFlow makes, the names of functions, and AutoGraph's source maps."""

from __future__ import annotations

from typing import Any

from .patching import wrap
from .state import Notes


def install(notes: Notes) -> None:
    """Have TensorFlow, which is imported, tell of graphs."""
    from tensorflow.python.autograph.impl import api
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import atomic_function
    from tensorflow.python.framework import function, ops

    def made(original: Any, graph: Any, *arguments: Any, **settings: Any) -> None:
        original(graph, *arguments, **settings)
        # A new graph may have the id of one that was never noted; notes keep theirs alive.
        notes.of(graph, eager=context.executing_eagerly())

    def named(original: Any, name: Any, graph: Any, *arguments: Any, **settings: Any) -> Any:
        notes.functions[name.decode() if isinstance(name, bytes) else str(name)] = graph
        return original(name, graph, *arguments, **settings)

    def converted(original: Any, *arguments: Any, **settings: Any) -> Any:
        done = original(*arguments, **settings)
        for there, origin in getattr(done, "ag_source_map", {}).items():
            notes.maps[(there.filename, there.lineno)] = (origin.loc.filename, origin.loc.lineno)
        return done

    def defined(original: Any, definition: Any, *arguments: Any, **settings: Any) -> Any:
        done = original(definition, *arguments, **settings)
        graph = getattr(definition, "_func_graph", None)
        if graph is not None and definition.name:
            notes.functions.setdefault(definition.name, graph)
        return done

    wrap(ops.Graph, "__init__", made)
    wrap(atomic_function, "from_func_graph", named)
    wrap(api, "_convert_actual", converted)
    wrap(function._DefinedFunction, "_create_definition_if_needed", defined)
