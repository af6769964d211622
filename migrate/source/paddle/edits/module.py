"""Assembles the converted module: imports, input layout, layers, the rewritten model, its loss, `build_model`."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import libcst as cst

from migrate.source.paddle.facts import modules
from migrate.source.paddle.facts.program import Program

WIDTH = 120
_FUTURE = "from __future__ import annotations"
_EMITTED = Path(__file__).with_name("emitted.py")
#: Emitted name -> the emitted names that it calls.
_NEEDS = {"Linear": ("Layer", "with_fan"), "Sequential": ("Layer",), "LayerList": ("Layer",)}
#: Names that are reserved for converted modules.
RESERVED = frozenset(
    {
        *("tf", "create_table", "column_blocks", "SPARSE_FEATURES", "SPARSE_OFFSETS", "SPARSE_ROWS", "DENSE_SIZE"),
        *("Layer", "Linear", "Sequential", "LayerList", "with_fan", "place_side_by_side", "clip_by_value"),
        *("group_by_initializer", "Any", "Iterable", "Iterator"),
        *("sparse_keys", "create_embedding_table", "build_model", "create_loss"),
    }
)


def scope_name(class_name: str) -> str:
    """Return the variable scope of a model: `MMoELayer` -> `mmoe`, `ShareBottomLayer` -> `share_bottom`."""
    name = class_name.removesuffix("Layer") or class_name
    name = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z]+)$", r"\1\2", name)
    return name.lower().strip("_") or "model"


def assemble(
    program: Program, rewritten: cst.Module, used: set[str], expressions: list[str], loss: str, target: str
) -> str:
    """Return the text of the converted module.

    Its layers share one table, whose columns have different initializers. For targets without such tables (`rec_sdk`),
    there is one table per initializer, which the program creates from `embedding_tables()` of the model.

    Args:
        program: the followed model.
        rewritten: its file with Paddle's calls replaced.
        used: emitted classes that the file uses.
        expressions: the input layers as Python expressions over `self`; empty if there are none.
        loss: the text of `create_loss`.
        target: `runtime` or `rec_sdk`.
    """
    grouped = target != "runtime"
    body = rewritten.with_changes(body=[_finish_model(program, item, expressions, grouped) for item in rewritten.body])
    head, rest = _split_at_imports(program, body)
    if expressions:
        used = used | {"place_side_by_side"} | ({"group_by_initializer"} if grouped else set())
    parts = [*_prologue(program, expressions, grouped), *_emitted(used), rest.strip("\n"), loss]
    parts += [_create_table(program)] if expressions and not grouped else []
    parts.append(_build_model(program, bool(expressions)))
    body_text = "\n\n\n".join(part.strip("\r\n") for part in parts if part.strip()) + "\n"
    text = (_headed(head, body_text) + body_text).replace("\r\n", "\n")
    return text.replace("\n", rewritten.default_newline)


def _split_at_imports(program: Program, body: cst.Module) -> tuple[tuple[str, str], str]:
    """Return the title, the imports that are kept, and the text after them, without imports of the framework."""
    names = modules.imported_names(program.module.tree)
    title: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    imports: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    after: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    seen = False
    for statement in body.body:
        if _is_framework_import(statement, names):
            seen = True
        elif _is_import(statement):
            imports.append(statement)
        else:
            (after if seen or imports or not _is_text(statement) else title).append(statement)
    head = body.with_changes(body=title, footer=[])
    kept = body.with_changes(header=[], body=imports, footer=[])
    rest = body.with_changes(header=[], body=after)
    return (head.code, kept.code), rest.code


def _headed(head: tuple[str, str], body: str) -> str:
    """Return the head of the module: that of the source, and the imports for annotations."""
    title, kept = (part.strip("\r\n") for part in head)
    imports = [line for line in kept.splitlines() if line != _FUTURE]
    names = [name for name in ("Iterable", "Iterator") if re.search(rf"\b{name}\[", body)]
    imports += [f"from collections.abc import {', '.join(names)}"] if names else []
    if not any(re.match(r"from typing import .*\bAny\b", line) for line in imports):
        imports.append("from typing import Any")
    return "\n\n".join([*([title] if title else []), _FUTURE, "\n".join(imports)]) + "\n\n"


def _is_text(statement: cst.BaseStatement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString | cst.ConcatenatedString)


def _is_import(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Import | cst.ImportFrom)


def _is_framework_import(statement: cst.BaseStatement, names: dict[str, str]) -> bool:
    """True for an import of only Paddle's names, or of modules that the converted file does not use."""
    if not isinstance(statement, cst.SimpleStatementLine) or not isinstance(
        statement.body[0], cst.Import | cst.ImportFrom
    ):
        return False
    node = ast.parse(cst.Module([statement.with_changes(leading_lines=[])]).code)
    return all(dotted.partition(".")[0] not in modules.STANDARD for dotted in modules.imported_names(node).values())


def _finish_model(
    program: Program, item: cst.BaseStatement, expressions: list[str], grouped: bool
) -> cst.BaseStatement:
    """Add code that joins the input layers to the model's constructor, and the method with their initial values."""
    if not isinstance(item, cst.ClassDef) or item.name.value != program.name:
        return item
    methods = list(item.body.body)
    place = next(
        i for i, node in enumerate(methods) if isinstance(node, cst.FunctionDef) and node.name.value == "__init__"
    )
    init = methods[place]
    assert isinstance(init, cst.FunctionDef)
    ending = _statements(_constructor_end(expressions, grouped))
    methods[place] = init.with_changes(body=init.body.with_changes(body=[*init.body.body, *ending], footer=[]))
    if expressions:
        method = cst.parse_module(_TABLES_METHOD if grouped else _INITIALIZER_METHOD).body[0]
        methods.insert(place + 1, method.with_changes(leading_lines=[cst.EmptyLine(indent=False)]))
    return item.with_changes(body=item.body.with_changes(body=methods))


def _statements(text: str) -> Sequence[cst.BaseStatement]:
    """Parse statements; comments before the first one become part of it."""
    function = cst.parse_module("def f():\n" + textwrap.indent(text, "    ")).body[0]
    assert isinstance(function, cst.FunctionDef) and isinstance(function.body, cst.IndentedBlock)
    return function.body.body


def _constructor_end(expressions: list[str], grouped: bool) -> str:
    if not expressions:
        return "\nself.name_layers()\nself.input_layers = []\nself.emb_dim = 0\n"
    listed = ", ".join(expressions)
    if len(listed) > WIDTH - 30:
        listed = "\n    " + ",\n    ".join(expressions) + ",\n"
    single_list = len(expressions) == 1 and expressions[0].startswith("*")
    value = f"list({expressions[0][1:]})" if single_list else f"[{listed}]"
    if grouped:
        return (
            "\n# These layers read the model input. The rows of their kernels that belong to\n"
            "# sparse features are those of embedding tables, one for each initializer, with\n"
            "# the layers' columns side by side.\n"
            f"self.name_layers()\nself.table_layers = group_by_initializer({value})\n"
            "self.emb_dim = place_side_by_side([layer for layers in self.table_layers for layer in layers])\n"
        )
    return (
        "\n# These layers read the model input. One lookup serves them all: the rows of their\n"
        "# kernels that belong to sparse features stand side by side as the columns of one\n"
        "# embedding table.\n"
        f"self.name_layers()\nself.input_layers = {value}\nself.emb_dim = place_side_by_side(self.input_layers)\n"
    )


_INITIALIZER_METHOD = '''\
def embedding_initializer(self) -> Any:
    """Return the initial values of the embedding table: in each layer's columns its kernel's."""
    return column_blocks([(layer.out_features, layer.weight_init) for layer in self.input_layers])
'''


_TABLES_METHOD = '''\
def embedding_tables(self) -> list[tuple[int, Any]]:
    """Return (columns, initializer) of each table; their rows side by side are the embedding."""
    return [(sum(layer.out_features for layer in layers), layers[0].weight_init) for layers in self.table_layers]
'''


def _prologue(program: Program, expressions: list[str], grouped: bool) -> list[str]:
    spec = program.schema.input
    imports = "import tensorflow.compat.v1 as tf"
    if expressions and not grouped:
        imports += "\n\nfrom runtime import create_table\nfrom runtime.initializers import column_blocks"
    layout = [
        f"#: the features of `sparse_feature` [batch, {len(spec.sparse)}], in order",
        *_tuple("SPARSE_FEATURES", [f'"{feature.name}"' for feature in spec.sparse]),
        "#: where the keys of each feature begin: key = offset + id keeps their id spaces apart",
        *_tuple("SPARSE_OFFSETS", [str(offset) for offset in spec.offsets]),
        f"SPARSE_ROWS = {spec.rows}",
    ]
    dense = [
        f"#: how many columns `dense_feature` has: {_ranges(program)} of the original input",
        f"DENSE_SIZE = {spec.dense_size}",
    ]
    text = imports + "\n\n" + "\n".join([*(layout if expressions else []), *dense])
    return [text, _SPARSE_KEYS.format(count=len(spec.sparse))] if expressions else [text]


def _ranges(program: Program) -> str:
    pieces = [
        f"{start} to {stop - 1}" if stop > start + 1 else f"{start}" for start, stop in program.schema.input.dense
    ]
    return "columns " + ", ".join(pieces) if pieces else "no column"


def _tuple(name: str, items: list[str]) -> list[str]:
    short = ", ".join(items) + ("," if len(items) == 1 else "")
    if len(name) + len(short) + 5 <= WIDTH:
        return [f"{name} = ({short})"]
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 6 > WIDTH:
            lines.append("")
        lines[-1] += f" {item}," if lines[-1] else f"{item},"
    return [f"{name} = (", *(f"    {line}" for line in lines), ")"]


_SPARSE_KEYS = '''\
def sparse_keys(sparse_feature: tf.Tensor) -> tf.Tensor:
    """Return the keys of the table, int64 [batch, {count}], for the ids of `sparse_feature`."""
    return tf.cast(sparse_feature, tf.int64) + tf.constant(SPARSE_OFFSETS, tf.int64)
'''


def _emitted(used: set[str]) -> list[str]:
    """Return the text of the used emitted classes and functions, in the order of their file."""
    wanted = set(used)
    for name in used:
        wanted |= set(_NEEDS.get(name, ()))
    text = _EMITTED.read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [ast.get_source_segment(text, node) or "" for node in nodes if node.name in wanted]


def _create_table(program: Program) -> str:
    return f'''\
def create_embedding_table(model: {program.name}, name: str = "embedding") -> Any:
    """Return the table that `sparse_lookup` reads: SPARSE_ROWS rows of `model.emb_dim`."""
    return create_table(
        key_dtype=tf.int64,
        dim=model.emb_dim,
        name=name,
        emb_initializer=model.embedding_initializer(),
        device_vocabulary_size=SPARSE_ROWS,
    )
'''


def _build_model(program: Program, factored: bool) -> str:
    scope = scope_name(program.name)
    call = "model((dense_feature, embedding))" if factored else "model(dense_feature)"
    outputs = f"outputs = {call}" if program.returns_list else f"outputs = [{call}]"
    embedding = (
        "the rows of `sparse_keys(ids)`, summed over the features,\n            float [batch, model.emb_dim]"
        if factored
        else "not used, this model looks nothing up"
    )
    labels = ", ".join(program.schema.labels)
    return f'''\
def build_model(
    model: {program.name},
    embedding: tf.Tensor,
    dense_feature: tf.Tensor,
    label: tf.Tensor,
    is_training: bool = True,
) -> dict[str, Any]:
    """Build loss and predictions of one batch.

    The model's variables live in the scope `{scope}`.

    Args:
        model: a {program.name}.
        embedding: {embedding}.
        dense_feature: float [batch, {program.schema.input.dense_size}].
        label: [batch, {len(program.schema.labels)}]: {labels}.
        is_training: no layer of this model behaves differently in training.

    Returns:
        `loss` (a scalar), `pred` (for each task the probability of the positive class,
        [batch]), `label` and `variable` (the model's trainable variables; the embedding
        table is not among them).
    """
    with tf.variable_scope("{scope}", reuse=tf.AUTO_REUSE) as scope:
        model.create_variables()
        {outputs}
    labels = tf.cast(label, tf.float32)
    loss = create_loss({_loss_call(program)})
    pred = [{", ".join(_predictions(program))}]
    variable = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=scope.name + "/")
    return {{"loss": loss, "pred": pred, "label": label, "variable": variable}}
'''


def _loss_call(program: Program) -> str:
    if program.loss is None:
        return "outputs, labels"
    return ", ".join(argument.replace("label[", "labels[") for argument in program.loss_arguments)


def _predictions(program: Program) -> list[str]:
    """Return the expression of the positive class of each task: the column given by the schema, or else the last."""
    if not program.schema.tasks:
        pairs = list(enumerate(program.outputs))
        return [f"outputs[{i}][:, -1]" if len(out.shape or (0, 0)) > 1 else f"outputs[{i}]" for i, out in pairs]
    texts = []
    for task in program.schema.tasks:
        source = f"outputs[{task.output}]"
        rank = len(program.outputs[task.output].shape or (0, 0))
        probability = f"tf.nn.softmax({source})" if task.loss == "cross_entropy" else source
        column = 0 if task.loss == "square_error" else task.positive
        texts.append(f"{probability}[:, {column}]" if rank > 1 else source)
    return texts
