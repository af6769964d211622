"""Creations of SOK's variables and layers: each becomes a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, literal, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.initial_values import check_initializer, is_function, may_be_none
from migrate.source.tensorflow.sok.symbols import LAYERS, MAKERS, VARIABLE, sok_calls
from migrate.source.tensorflow.sok.tf_spelling import in_loop, is_repeated, target_of, tensorflow
from migrate.targets.layout import keywords

_STATIC = (
    "initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype", "import_scope",
    "constraint", "synchronization", "aggregation", "shape", "initializer", "mode",
)  # fmt: skip
_CONFIG = (
    "init_capacity", "max_capacity", "max_hbm_for_vectors", "max_bucket_size", "max_load_factor", "block_size",
    "io_block_size", "device_id", "io_by_cpu", "evict_strategy",
)  # fmt: skip
_DYNAMIC = (
    "dimension", "initializer", "var_type", "name", "constraint", "trainable", "key_type", "dtype", "mode", *_CONFIG,
)  # fmt: skip
_SPARSE = (
    "combiner", "max_vocabulary_size_per_gpu", "embedding_vec_size", "slot_num", "max_nnz", "max_feature_num",
    "use_hashtable", "key_dtype", "embedding_initializer", "name",
)  # fmt: skip
_DENSE = (
    "max_vocabulary_size_per_gpu", "embedding_vec_size", "slot_num", "nnz_per_slot", "dynamic_input", "use_hashtable",
    "key_dtype", "embedding_initializer", "name",
)  # fmt: skip
PARAMETERS = {
    "Variable": _STATIC,
    "DynamicVariable": _DYNAMIC,
    "DistributedEmbedding": _SPARSE,
    "All2AllDenseEmbedding": _DENSE,
}
#: Arguments that are converted, or refused; the others configure how SOK stores rows on its devices.
_READ = {
    "combiner", "constraint", "dimension", "dtype", "dynamic_input", "embedding_initializer", "embedding_vec_size",
    "init_capacity", "initial_value", "initializer", "key_dtype", "key_type", "max_capacity",
    "max_vocabulary_size_per_gpu", "mode", "name", "nnz_per_slot", "shape", "slot_num", "trainable", "use_hashtable",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DRAWN = "other initial values are drawn, from the same distribution"
#: Functions that create a matrix of a known shape: parameters, and the equivalent initializer.
_FILLS = {
    "constant": (("value", "dtype", "shape", "name"), "constant_initializer", ("value",)),
    "ones": (("shape", "dtype", "name"), "ones_initializer", ()),
    "zeros": (("shape", "dtype", "name"), "zeros_initializer", ()),
    "random_normal": (
        ("shape", "mean", "stddev", "dtype", "seed", "name"),
        "random_normal_initializer",
        ("mean", "stddev", "seed"),
    ),
    "random_uniform": (
        ("shape", "minval", "maxval", "dtype", "seed", "name"),
        "random_uniform_initializer",
        ("minval", "maxval", "seed"),
    ),
}
_RANDOM_DEFAULTS = {"random_normal": {"mean": "0.0", "stddev": "1.0"}, "random_uniform": {"minval": "0", "maxval": "1"}}


@dataclass
class Made:
    """A variable or a layer of SOK, and its table."""

    call: cst.Call
    name: str  #: the function of SOK that creates it
    part: Part
    given: Mapping[str, cst.Arg] = field(default_factory=dict)

    @property
    def is_layer(self) -> bool:
        """True for a layer of SOK 1.x."""
        return self.name in LAYERS


def read_makers(draft: Draft) -> list[Made]:
    """Replace every variable and layer of the file by a table."""
    return [_creation(draft, call, name) for call, name in sok_calls(draft.file) if name in MAKERS]


def _creation(draft: Draft, call: cst.Call, name: str) -> Made:
    given = draft.arguments(call, PARAMETERS[name], VARIABLE)
    label = _label(draft, call, given or {})
    kind = "layer" if name in LAYERS else "variable"
    part = Part(call, VARIABLE, "table", label, f"the {kind} `{label}` of SOK becomes a table")
    draft.parts.append(part)
    made = Made(call, name, part, given or {})
    if given is None:
        return made
    if not tensorflow(draft):
        draft.block(call, VARIABLE, "no-tensorflow")
        return made
    _check(draft, made)
    draft.drops(call, given, _READ)
    if name == "Variable":
        _static(draft, made)
    else:
        _grown(draft, made)
    return made


def _label(draft: Draft, call: cst.Call, given: Mapping[str, cst.Arg]) -> str:
    named = string(given["name"].value) if "name" in given else None
    target = target_of(draft, call)
    shown = draft.tree.source(target if target is not None else call)
    return named or " ".join(shown.split())[:60]


def _check(draft: Draft, made: Made) -> None:
    """Block arguments without a counterpart."""
    given, label = made.given, made.part.label
    if not is_none(given.get("constraint")):
        draft.block(given["constraint"], VARIABLE, "constraint", label=label)
    if "trainable" in given and literal(given["trainable"].value) is not True:
        draft.block(given["trainable"], VARIABLE, "may-not-be-trainable", label=label)
    if not is_float32(draft.file.names, given.get("dtype")):
        draft.block(given["dtype"], VARIABLE, "other-type", label=label)
    hashed = given.get("use_hashtable")
    if hashed is not None and not isinstance(literal(hashed.value), bool):
        draft.block(hashed, VARIABLE, "computed-hashtable", label=label)


def _grown(draft: Draft, made: Made) -> None:
    """Replace a DynamicVariable, or the table of a layer."""
    given, tree, tf = made.given, draft.tree, tensorflow(draft)
    dim = given.get("embedding_vec_size" if made.is_layer else "dimension")
    if dim is None:
        draft.block(made.call, VARIABLE, "unknown-dimension", label=made.part.label)
        return
    key = given.get("key_dtype" if made.is_layer else "key_type")
    initial = _layer_initial(draft, made, tf) if made.is_layer else _dynamic_initial(draft, made, tf)
    rows = given.get("max_vocabulary_size_per_gpu" if made.is_layer else "init_capacity")
    if made.name == "DynamicVariable" and "max_capacity" in given:
        made.part.reason = "; ".join(filter(None, (made.part.reason, "it grows beyond `max_capacity`")))
    texts = {
        "key_dtype": tree.source(key.value) if key is not None and not is_none(key) else f"{tf}.int64",
        "dim": tree.source(dim.value),
        "name": _name(draft, made),
        "emb_initializer": initial,
    }
    if rows is not None and not is_none(rows):
        texts["device_vocabulary_size"] = tree.source(rows.value)
    _write(draft, made, texts)


def _write(draft: Draft, made: Made, texts: dict[str, str], function: str = "create_table") -> None:
    mode = made.given.get("mode")
    if mode is not None and may_be_none(draft, mode.value):
        draft.block(mode, VARIABLE, "mode-may-be-none", label=made.part.label)
    elif mode is not None and not is_none(mode) and string(mode.value) != "distributed":
        texts["placement"] = draft.tree.source(mode.value)
    made.part.dim, made.part.initializer = texts.get("dim", ""), texts.get("emb_initializer", "")
    draft.write(made.call, function, keywords(**texts))
    made.part.after = f"{draft.function(function)}(...)"


def _name(draft: Draft, made: Made) -> str:
    """Return the text of the table's name; SOK appends numbers to names that occur more than once."""
    arg = made.given.get("name")
    if arg is not None and not is_none(arg):
        text, fixed = draft.tree.source(arg.value), string(arg.value) is not None
        return f"{draft.function('unique_name')}({text})" if fixed and in_loop(draft, made.call) else text
    target = target_of(draft, made.call)
    short = target.attr.value if isinstance(target, cst.Attribute) else "table"
    short = target.value if isinstance(target, cst.Name) else short
    return f'{draft.function("unique_name")}("{short}")' if is_repeated(draft, made.call) else f'"{short}"'


def _dynamic_initial(draft: Draft, made: Made, tf: str) -> str:
    """Return the initializer that corresponds to SOK's string."""
    arg = made.given.get("initializer")
    if arg is None or is_none(arg):
        made.part.reason = _DRAWN
        return f"{tf}.random_uniform_initializer(0.0, 1.0)"
    text = string(arg.value)
    if text is not None and _NUMBER.fullmatch(text):
        return f"{tf}.constant_initializer({text})"
    if text in {"normal", "uniform", "random", ""}:
        made.part.reason = _DRAWN
        return f"{tf}.random_{'normal' if text == 'normal' else 'uniform'}_initializer(0.0, 1.0)"
    if _is_text_of(draft, arg.value):  # a number as a string; other strings fail in SOK
        assert isinstance(arg.value, cst.Call)
        return f"{tf}.constant_initializer(float({draft.tree.source(arg.value.args[0].value)}))"
    shown = " ".join(draft.tree.source(arg.value).split())[:60]
    draft.block(arg, VARIABLE, "unknown-initializer", shown=shown)
    return f"{tf}.zeros_initializer()"


def _is_text_of(draft: Draft, node: cst.BaseExpression) -> bool:
    named = isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "str"
    return named and isinstance(node, cst.Call) and len(node.args) == 1


def _layer_initial(draft: Draft, made: Made, tf: str) -> str:
    arg = made.given.get("embedding_initializer")
    if arg is None or is_none(arg):
        made.part.reason = _DRAWN
        return f"{tf}.random_uniform_initializer(-0.05, 0.05)"
    if string(arg.value) is not None:
        draft.block(arg, VARIABLE, "text-initializer", label=made.part.label)
    check_initializer(draft, arg.value)
    return draft.tree.source(arg.value)


def _static(draft: Draft, made: Made) -> None:
    """Replace a variable with a fixed number of rows."""
    given, tf = made.given, tensorflow(draft)
    value = given.get("initial_value")
    if value is not None and not is_none(value):
        if (filled := _filled(draft, made, value.value, tf)) is not None:
            _sized(draft, made, *filled)
        else:
            _of_rows(draft, made, value)
        return
    shape, initial = given.get("shape"), given.get("initializer")
    sizes = _sizes(draft, shape.value) if shape is not None else None
    if sizes is None or initial is None or string(initial.value) is not None:
        what = "initial values" if sizes is not None else "shape"
        draft.block(made.call, VARIABLE, "unread-part", what=what, label=made.part.label)
        return
    check_initializer(draft, initial.value)
    text = draft.tree.source(initial.value)
    made.part.reason = "" if re.search("constant|zeros|ones", text, re.IGNORECASE) else _DRAWN
    _sized(draft, made, sizes, text)


def _sized(draft: Draft, made: Made, sizes: tuple[str, str], initial: str) -> None:
    texts = {
        "key_dtype": f"{tensorflow(draft)}.int64",
        "dim": sizes[1],
        "name": _name(draft, made),
        "emb_initializer": initial,
        "device_vocabulary_size": sizes[0],
    }
    _write(draft, made, texts)


def _sizes(draft: Draft, node: cst.BaseExpression) -> tuple[str, str] | None:
    """Return the texts of rows and dim of a shape that is written out."""
    if not isinstance(node, cst.List | cst.Tuple) or len(node.elements) != 2:
        return None
    if any(isinstance(one, cst.StarredElement) for one in node.elements):
        return None
    first, second = (draft.tree.source(one.value) for one in node.elements)
    return first, second


def _filled(draft: Draft, made: Made, value: cst.BaseExpression, tf: str) -> tuple[tuple[str, str], str] | None:
    """Return sizes and initializer of a matrix that a TensorFlow function creates; None for any other."""
    name = draft.file.names.of(value.func) if isinstance(value, cst.Call) else None
    if name not in _FILLS or not isinstance(value, cst.Call):
        return None
    parameters, initializer, kept = _FILLS[name]
    given = bind(value, parameters)
    sizes = _sizes(draft, given["shape"].value) if given is not None and "shape" in given else None
    if given is None or sizes is None:
        return None
    texts = {one: draft.tree.source(given[one].value) for one in kept if one in given}
    if name.startswith("random"):
        made.part.reason = _DRAWN
        texts = {**_RANDOM_DEFAULTS[name], **texts}
    if name == "constant":
        if not isinstance(literal(resolve(draft.tree, given["value"].value)), int | float):
            return None  # it may be an array, whose rows are imported
        return sizes, f"{tf}.constant_initializer({texts['value']})"
    return sizes, f"{tf}.{initializer}({', '.join(keywords(**texts))})"


def _of_rows(draft: Draft, made: Made, value: cst.Arg) -> None:
    """Replace a variable with given values by a table that begins with them."""
    if is_function(draft, value.value):
        draft.block(value, VARIABLE, "rows-of-function", label=made.part.label)
    texts = {"rows": draft.tree.source(value.value), "name": _name(draft, made)}
    _write(draft, made, texts, "table_of_rows")
