"""Calls that export a Keras model with its tables; programs that load it need the operations of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

import libcst as cst

from migrate.source.tensorflow.base.arguments import by_keyword, last_name, method_of
from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.references.exports import OPERATIONS, exports, note
from migrate.source.tensorflow.keras.surroundings import is_foreign, texts_of

_MODELS = {"keras.Model", "keras.models.Model"}
_TYPES = "give `input_signature`, as a subclassed model of Keras 3 without it takes float32, also for ids"


def notes_on_exports(file: File) -> Iterator[Adaptation]:
    """Yield a note on each call that writes a SavedModel."""
    for node, text, kind in exports(file):
        if kind == OPERATIONS:
            yield note(node, text)
    for call in file.tree.calls:
        method = method_of(call)
        if method in {"export", "save"} and call.args and file.names.of(call.func) is None:
            if is_foreign(file, call):
                continue
            paths = [*filter(None, texts_of(file, call.args[0].value))]
            # Keras 2 writes a SavedModel where the path has no suffix; Keras 3 does only in `export`.
            if method == "export" or (paths and not any(PurePath(path).suffix for path in paths)):
                written = note(call, file.tree.source(call.func))
                yield replace(written, action=f"{_TYPES}; {written.action}") if _untyped(file, call) else written


def _untyped(file: File, call: cst.Call) -> bool:
    """True for an `export` that is told no types of inputs, in a file with a model of its own class."""
    bases = (file.names.of(base.value) for one in file.tree.classes for base in one.bases)
    untyped = last_name(call.func) == "export" and by_keyword(call, "input_signature") is None
    return untyped and any(base in _MODELS for base in bases)
