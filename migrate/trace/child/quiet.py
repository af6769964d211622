"""Pauses the trace function in parts of TensorFlow that take long and call nothing of the program.

A trace function slows down all Python code, not only the code that it listens to.
"""

from __future__ import annotations

from typing import Any

from .lines import Lines
from .patching import wrap


def install(lines: Lines) -> None:
    """Pause while TensorFlow builds an op, converts a function's text and orders a function's ops."""
    from google.protobuf import text_format
    from tensorflow.python.autograph.impl import api
    from tensorflow.python.framework import auto_control_deps, meta_graph, op_def_library, ops
    from tensorflow.python.training import saver

    def around(original: Any, *arguments: Any, **settings: Any) -> Any:
        with lines.paused():
            return original(*arguments, **settings)

    wrap(op_def_library, "_apply_op_helper", around)
    wrap(auto_control_deps.AutomaticControlDependencies, "__exit__", around)
    wrap(api, "_convert_actual", around)
    wrap(text_format, "MessageToString", around)
    wrap(ops.Graph, "as_graph_def", around)
    wrap(meta_graph, "stripped_op_list_for_graph", around)
    wrap(saver.Saver, "build", around)
    wrap(saver.Saver, "save", around)
