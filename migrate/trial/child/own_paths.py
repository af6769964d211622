"""Keeps checkpoints and summaries of a trial apart from those of the program.

The working directory is a copy already. A path that leads out of it is replaced by one in the trial's folder where
TensorFlow writes a model or its summaries, and where it reads what was written there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

wrap = importlib.import_module("_recmigrate_trace.patching").wrap
_enough = importlib.import_module("_recmigrate_trace.steps").TracedEnough

#: Module, owner in it, function, place and name of the path that is written to.
_WRITES = (
    ("training.saver", "Saver", "save", 2, "save_path"),
    ("summary.writer.event_file_writer", "EventFileWriter", "__init__", 1, "logdir"),
    ("summary.writer.event_file_writer_v2", "EventFileWriterV2", "__init__", 2, "logdir"),
    ("ops.gen_summary_ops", "", "create_summary_file_writer", 1, "logdir"),
    ("framework.graph_io", "", "write_graph", 1, "logdir"),
    ("training.training_util", "", "write_graph", 1, "logdir"),
)
_READS = (("training.saver", "Saver", "restore", 2, "save_path"),)


class OwnPaths:
    """Replaces paths."""

    def __init__(self, folder: str, has_trained: Callable[[], bool]) -> None:
        self._folder, self._has_trained = os.path.realpath(folder) + os.sep, has_trained

    def install(self) -> None:
        """Put functions around those of TensorFlow, which is imported."""
        import tensorflow as tf
        from tensorflow.python.checkpoint import checkpoint_management
        from tensorflow.python.saved_model import builder_impl

        model = tf.keras.Model
        for name, replace in (("save", self._written), ("save_weights", self._written), ("load_weights", self._read)):
            _replacing(model, name, 1, "filepath", replace)
        for paths, replace in ((_WRITES, self._written), (_READS, self._read)):
            for module, owner, name, place, argument in paths:
                module_of_files: Any = importlib.import_module(f"tensorflow.python.{module}")
                _replacing(
                    getattr(module_of_files, owner) if owner else module_of_files, name, place, argument, replace
                )

        def state_file(original: Any, *arguments: Any, **named: Any) -> Any:
            return self._read(original(*arguments, **named))

        def removed(original: Any, prefix: Any, *arguments: Any, **named: Any) -> None:
            if self._is_own(os.fspath(prefix)):
                original(prefix, *arguments, **named)

        def exported(original: Any, builder: Any, export_dir: Any, *arguments: Any, **named: Any) -> None:
            if self._has_trained() and not self._is_own(os.fspath(export_dir)):
                raise _enough  # a trial exports nothing: it ends here
            original(builder, export_dir, *arguments, **named)

        wrap(checkpoint_management, "_GetCheckpointFilename", state_file)
        wrap(checkpoint_management, "remove_checkpoint", removed)
        wrap(builder_impl._SavedModelBuilder, "__init__", exported)

    def _is_own(self, path: Any) -> bool:
        text = os.fsdecode(path)
        return "://" not in text and os.path.realpath(text).startswith(self._folder)

    def _written(self, path: Any) -> Any:
        inside = self._inside(path)
        if inside != path:
            os.makedirs(os.path.dirname(inside), exist_ok=True)  # noqa: PTH103, PTH120
        return inside

    def _read(self, path: Any) -> Any:
        inside = self._inside(path)
        return inside if any(os.path.exists(f"{inside}{end}") for end in ("", ".index")) else path  # noqa: PTH110

    def _inside(self, path: Any) -> Any:
        """Return where a path that leads out of the trial's folder lies in it; others as they are."""
        if not isinstance(path, str | bytes | os.PathLike) or self._is_own(path):
            return path
        text = os.fsdecode(path)
        full = text.replace("://", "/") if "://" in text else os.path.abspath(text)  # noqa: PTH100
        return os.path.join(self._folder, "outside", full.lstrip("/"))  # noqa: PTH118


def _replacing(owner: Any, name: str, place: int, argument: str, replace: Callable[[Any], Any]) -> None:
    def around(original: Any, *arguments: Any, **named: Any) -> Any:
        replaced = list(arguments)
        if len(replaced) > place:
            replaced[place] = replace(replaced[place])
        elif argument in named:
            named[argument] = replace(named[argument])
        return original(*replaced, **named)

    around.__qualname__ = f"{name}.{argument}"
    wrap(owner, name, around)
