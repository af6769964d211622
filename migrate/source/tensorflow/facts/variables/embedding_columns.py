"""Embedding columns: the column is replaced; TensorFlow's input layer then creates the table and looks it up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, keyword, literal
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.common_refusals import or_in_others
from migrate.source.tensorflow.base.model import Blocker, Creation, Initializer, Naming, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.variables.keras_layers import rowwise

RULE = "tf-embedding-column"
_LAST = ("ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm", "trainable", "use_safe_embedding_lookup")
#: The runtime's function for columns that share a table.
SHARED = "shared_embedding_columns"
#: Symbol -> (its parameters in order, the runtime's function).
COLUMNS = {
    "feature_column.embedding_column": (
        ("categorical_column", "dimension", "combiner", "initializer", *_LAST),
        "embedding_column",
    ),
    "feature_column.shared_embedding_columns": (
        ("categorical_columns", "dimension", "combiner", "initializer", "shared_embedding_collection_name", *_LAST),
        SHARED,
    ),
}
#: Categorical columns of TensorFlow itself; those of its forks may have rows of their own.
CATEGORIES = {
    "bucketized_column", "categorical_column_with_hash_bucket", "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list", "crossed_column",
    "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file", "sequence_categorical_column_with_vocabulary_list",
    "weighted_categorical_column",
}  # fmt: skip
INPUT_LAYERS = {
    "feature_column.input_layer", "feature_column.sequence_input_layer", "contrib.feature_column.sequence_input_layer",
    "keras.layers.DenseFeatures", "keras.experimental.SequenceFeatures",
}  # fmt: skip
#: Modules of estimators, and suffixes of the classes of canned estimators.
ESTIMATORS = ("estimator",)
KINDS = ("Classifier", "Regressor", "Estimator")


#: Layers of Keras that read columns.
KERAS_READERS = ("keras.layers.DenseFeatures", "keras.experimental.SequenceFeatures")
#: Programs whose columns a model of Keras reads and trains, and those that build a v1 graph.
_READ_BY_KERAS = re.compile(r"\b(Dense|Sequence)Features\b")
_TRAINED_BY_KERAS = re.compile(r"\.\s*compile\s*\(|\bGradientTape\b|\bkeras\.Model\b|\bSequential\b")
_GRAPH = re.compile(
    r"\b(\w*Session|\w*placeholder|disable_(eager|v2)\w+|Graph|EstimatorSpec|Estimator|get_variable|variable_scope"
    r"|input_layer|linear_model)\s*\("
)


def are_of_keras(file: File, column: cst.Call) -> bool:
    """True if a program whose files build no v1 graph has a model of Keras and its layers that read columns.

    The texts of the files decide, so that all analyses that a file is a part of have one answer.
    """
    tree = file.part(column).tree
    texts = tree.link.programs() if tree.link is not None else {tree.text}
    words = (_READ_BY_KERAS, _TRAINED_BY_KERAS)
    return all(any(map(one.search, texts)) for one in words) and not any(map(_GRAPH.search, texts))


def find_columns(file: File) -> list[Table]:
    """Return the embedding columns of the file in source order, as tables without lookups of their own."""
    calls = file.calls(*COLUMNS)
    homes = {file.tree.module_of(call): call for call, _ in calls}
    around = {home: [*_consumers(file, call)] for home, call in homes.items()}
    return [_column(file, call, name, around[file.tree.module_of(call)]) for call, name in calls]


def _column(file: File, call: cst.Call, name: str, around: list[Blocker]) -> Table:
    parameters, function = COLUMNS[name]
    creation = Creation(call, RULE, target_function=function, naming=Naming(unique=True))
    bound = bind(call, parameters)
    table = Table(_label(file, call, bound or {}), creation, blockers=[*around])
    if bound is None:
        table.blockers.append(blocker(call, RULE, "unread-arguments"))
        return table
    if (foreign := _foreign(file, bound)) is not None:
        table.blockers = [foreign]
        return table
    if "dimension" in bound:
        creation.dim_text = file.tree.source(bound["dimension"].value)
    initializer = bound.get("initializer")
    creation.initializer = _initializer(file, initializer)
    table.blockers += _arguments(file, bound)
    return table


def _initializer(file: File, argument: cst.Arg | None) -> Initializer:
    value = resolve(file.tree, argument.value) if argument is not None else None
    distribution = file.names.of(value.func) if isinstance(value, cst.Call) else None
    return Initializer("" if argument is None else file.tree.source(argument.value), distribution=distribution or "")


def _label(file: File, call: cst.Call, bound: Mapping[str, cst.Arg]) -> str:
    """Return a label for the column: its target, else the source of its categorical column, else its own."""
    target = file.tree.parent(call)
    if isinstance(target, cst.Assign) and len(target.targets) == 1:
        return file.tree.excerpt(target.targets[0].target)
    first = bound.get("categorical_column") or bound.get("categorical_columns")
    over: cst.BaseExpression = call if first is None else first.value
    while over is not call:
        if isinstance(over, (cst.List, cst.Tuple)) and over.elements:
            over = over.elements[0].value
        elif isinstance(over, cst.Call) and over.args:
            over = over.args[0].value  # the key, or the column that is weighted
        else:
            break
    return file.tree.excerpt(over)


def categories(bound: Mapping[str, cst.Arg]) -> list[cst.BaseExpression] | None:
    """Return the categorical columns passed to an embedding column; None if the list is not a display in the call."""
    if "categorical_column" in bound:
        return [bound["categorical_column"].value]
    listed = bound["categorical_columns"].value if "categorical_columns" in bound else None
    if not isinstance(listed, (cst.List, cst.Tuple)):
        return None
    columns = [element.value for element in listed.elements if isinstance(element, cst.Element)]
    return columns if len(columns) == len(listed.elements) else None


def _foreign(file: File, bound: Mapping[str, cst.Arg]) -> Blocker | None:
    """Return a blocker for a column over a categorical column of a fork of TensorFlow, or None."""
    for node in categories(bound) or ():
        column = resolve(file.tree, node)
        name = file.names.of(column.func) if isinstance(column, cst.Call) else None
        if name == "feature_column.weighted_categorical_column" and isinstance(column, cst.Call) and column.args:
            column = resolve(file.tree, column.args[0].value)
            name = file.names.of(column.func) if isinstance(column, cst.Call) else None
        if name and name.startswith("feature_column.") and name.rpartition(".")[2] not in CATEGORIES:
            return blocker(node, RULE, "category-of-fork", name=name)
    return None


def _arguments(file: File, bound: dict[str, cst.Arg]) -> Iterator[Blocker]:
    """Yield the blockers from the arguments of an embedding column."""
    if not is_none(bound.get("ckpt_to_load_from")):
        yield blocker(bound["ckpt_to_load_from"], RULE, "loaded-rows")
    trainable = bound.get("trainable")
    if trainable is not None and literal(trainable.value) is not True:
        yield blocker(trainable, RULE, "not-trained")
    initializer = bound.get("initializer")
    if initializer is None or is_none(initializer):
        return
    known = rowwise(file, initializer.value)
    if known is False:
        yield blocker(initializer, RULE, "joint-values")
    elif known is None:
        yield blocker(initializer, RULE, "unknown-values")


def _consumers(file: File, column: cst.Call) -> Iterator[Blocker]:
    """Yield blockers for the readers of a file's columns, unless these are input layers of a model it trains itself."""
    program = file.program(column)
    canned = [(one, named) for one in program for named in _canned(one)]
    for part, named in canned:
        text = part.tree.one_line(named)
        yield blocker(named, RULE, "canned-estimator", text=text)
    layers = [call for one in program for call, _ in one.calls(*INPUT_LAYERS)]
    for call in layers:
        yield from _input_layer(call)
    if not layers and not canned:
        node = file.tree.module_of(column)
        yield blocker(node, RULE, "no-reader", others=or_in_others(program))


def _canned(file: File) -> list[cst.BaseExpression]:
    """Return the mentions of canned estimators: code that has the class may instantiate it.

    A module of estimators passed to a call, as in `getattr(tf.estimator, kind)`, may provide any of them.
    """
    mentions: list[cst.BaseExpression] = []
    for node in file.names.mentions(lambda word: word in ESTIMATORS or word.endswith(KINDS)):
        name, around = file.names.of(node) or "", file.tree.parent(node)
        part = isinstance(around, (cst.Attribute, cst.Annotation))
        if not part and (_is_canned(name) or (name in ESTIMATORS and isinstance(around, cst.Arg))):
            mentions.append(node)
    return mentions


def _is_canned(name: str) -> bool:
    """True for an estimator with a built-in model."""
    module, _, last = name.rpartition(".")
    return module.split(".")[0] in ESTIMATORS and last != "Estimator" and last.endswith(KINDS)


def _input_layer(call: cst.Call) -> Iterator[Blocker]:
    """Yield blockers for options of an input layer that tables do not support."""
    for arg in call.args:
        word = keyword(arg)
        if word in {"cols_to_vars", "weight_collections"} and not is_none(arg):
            yield blocker(call, RULE, "listed-variables", word=word)
        if word == "trainable" and literal(arg.value) is not True:
            yield blocker(call, RULE, "not-trained")
