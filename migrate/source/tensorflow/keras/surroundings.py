"""What a program does around its layers that tables do not support: sessions, strategies, backends, files, copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import Symbol, Value
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import by_keyword, keyword, last_name, literal, method_of, string
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.other_sdks import RULE as OTHER_SDK
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, cached_list
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.variables.embedding_columns import KERAS_READERS
from migrate.source.tensorflow.facts.variables.keras_layers import Layer
from migrate.source.tensorflow.keras.layer_uses import are_layers, blocker_at

#: Functions that only code for v1 graphs calls.
OF_SESSIONS = {
    "Session", "InteractiveSession", "placeholder", "sparse_placeholder", "disable_eager_execution",
    "disable_v2_behavior", "train.MonitoredTrainingSession", "estimator.EstimatorSpec", "estimator.Estimator",
    "keras.estimator.model_to_estimator", "keras.backend.get_session",
    "keras.backend.set_session",
}  # fmt: skip
LOADERS = {"keras.models.load_model", "keras.saving.load_model", "saved_model.load", "saved_model.load_v2"}
#: What saves a model by its path. Weights alone go to .h5 in Keras 2 only.
STORES = {"save", "save_model", "ModelCheckpoint"}
#: What `save_format` calls .h5.
FORMATS = {"h5", "hdf5"}
VARIABLE = "KERAS_BACKEND"
_OTHERS = {"cntk", "jax", "mxnet", "numpy", "openvino", "theano", "torch"}
#: Functions that read single variables of a checkpoint.
_READERS = {"train.load_variable", "train.load_checkpoint", "train.NewCheckpointReader"}


@cached_list
def around_layers(file: File) -> Iterator[Blocker]:
    """Block all layers where the program runs in a way that their tables would not."""
    yield from _of_programs(file)
    yield from _surroundings(file)
    yield from _other_backends(file)


def in_files(file: File, layers: Sequence[Layer]) -> Iterator[Blocker]:
    """Block all layers where models with them are stored, loaded or copied in a form without rows of tables."""
    yield from _storing(file)
    yield from _loaded(file)
    yield from _copied(file, layers)


def _of_programs(file: File) -> Iterator[Blocker]:
    """Block where the program changes the framework, so that a layer may be another class, or tries another SDK."""
    for rule in rules(FileRule):
        for part in file.files if rule.id in {"tf-patched", OTHER_SDK} else ():
            yield from rule.blockers(part)


def _surroundings(file: File) -> Iterator[Blocker]:
    for call, name in file.names.calls:
        if name in OF_SESSIONS:
            yield blocker_at(file, call, "session")
        if name.startswith("distribute.") and name.endswith("Strategy"):
            yield blocker_at(file, call, "distributed")
    for call in file.tree.calls:
        jit = by_keyword(call, "jit_compile")
        if jit is not None and literal(jit.value) not in (False, None, "auto"):
            yield blocker_at(file, jit, "compiled")


def _other_backends(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each statement that lets Keras run without TensorFlow."""
    for node, value in _chosen(file):
        yield blocker_at(file, node, "other-backend", backend=value)


@cached_list
def _chosen(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield the statements that name the variable of the backend, and calls that set it, beside another backend."""
    named = [node for node in file.tree.strings if string(node) == VARIABLE]
    setters = [call for call in file.tree.calls if last_name(call.func) == "set_backend"]
    for node in (*named, *file.tree.names.get(VARIABLE, ()), *setters):
        statement = file.tree.statement(node) or node
        texts = [string(one) for one in nodes_in(statement, cst.SimpleString)]
        other = next((one for one in texts if one in _OTHERS), None)
        if other is not None:
            yield statement, other


def is_foreign(file: File, call: cst.Call) -> bool:
    """True for `re.compile(...)` and the like: functions of other libraries."""
    values = flow_of(file).values(call.func)
    return bool(values) and all(isinstance(value, Symbol) and symbol_of(value) is None for value in values)


@cached_list
def _storing(file: File) -> Iterator[Blocker]:
    """Block where the model is saved, or its weights are passed on, in a form without rows of tables."""
    for call in file.tree.calls:
        method, short = method_of(call), last_name(call.func)
        for arg in call.args:
            of_format = keyword(arg) == "save_format"
            if (
                short in STORES
                and not _has_weights_alone(call)
                and any(text in FORMATS if of_format else _is_h5(text) for text in texts_of(file, arg.value))
            ):
                yield blocker_at(file, call, "stored-as-h5")
        copies = method in {"get_weights", "set_weights"}
        if copies and not are_layers(file, cst.ensure_type(call.func, cst.Attribute).value, KERAS_READERS):
            yield blocker_at(file, call, "copied")
        if file.names.of(call.func) in {"keras.models.clone_model", "keras.estimator.model_to_estimator"}:
            yield blocker_at(file, call, "copied")


@cached_list
def _loaded(file: File) -> Iterator[Blocker]:
    """Block where a model is loaded, which may be trained, or converted for TensorFlow Lite."""
    for call, name in file.names.calls:
        if name in LOADERS:
            yield blocker_at(file, call, "loaded-model")
        if name.startswith("lite.TFLiteConverter."):
            yield blocker_at(file, call, "lite")


def _has_weights_alone(call: cst.Call) -> bool:
    """True for `ModelCheckpoint(path, save_weights_only=True)`."""
    argument = by_keyword(call, "save_weights_only")
    return argument is not None and literal(argument.value) is True


def _is_h5(text: str) -> bool:
    return text.endswith((".h5", ".hdf5")) and not text.endswith(".weights.h5")


#: Parts of a path that may be texts, or lead to some.
_PIECES = (cst.SimpleString, cst.Name, cst.Attribute)


def texts_of(file: File, node: cst.BaseExpression) -> Iterator[str]:
    """Yield the strings of which a path is composed."""
    for piece in reached(node, lambda expression: [*nodes_in(expression, *_PIECES), *makers(file, expression)]):
        yield from (part.value for part in nodes_in(piece, cst.FormattedStringText))
        yield string(piece) or ""


def _copied(file: File, layers: Sequence[Layer]) -> Iterator[Blocker]:
    """Block where an object that holds a table is copied, or a checkpoint is read by names."""
    flow = flow_of(file)
    tables = [value for layer in layers for value in layer.values]
    holders = {*tables, *(holder for value in tables for holder in flow.holders(value))}
    for call, values, reads in _copying(file):
        if not holders.isdisjoint(values) or any((symbol_of(one) or "").startswith("keras.") for one in values):
            yield blocker_at(file, call, "copied")
        if reads:
            yield blocker_at(file, call, "read-from-file")


@cached_list
def _copying(file: File) -> Iterator[tuple[cst.Call, list[Value], bool]]:
    """Yield the calls that copy an object, with what it may be, and those that read a checkpoint, with true."""
    for call in file.tree.calls:
        imported, _ = file.tree.imported_names(call.func)
        values = flow_of(file).values(call.args[0].value) if call.args and "copy.deepcopy" in imported else []
        reads = file.names.of(call.func) in _READERS
        if values or reads:
            yield call, values, reads
