"""Assembles the converted module: imports, input layout, the rewritten model, its loss, `build_model`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import libcst as cst

from migrate.source.paddle.abstract.values import words
from migrate.source.paddle.emission.names import Names
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.sdk_tables import SdkText
from migrate.source.paddle.one_hot.standalone import OwnNames, definition

_FUTURE = "from __future__ import annotations"
_NOTHING = SdkText()
_RESERVED = words(
    "tf create_table SPARSE_FEATURES SPARSE_OFFSETS SPARSE_ROWS DENSE_SIZE Any Iterable Iterator Sequence "
    "sparse_keys create_embedding_table build_model create_loss"
)


def reserved(names: Names) -> frozenset[str]:
    """Return the names that a converted module binds itself."""
    return _RESERVED | {names.layers}


def scope_name(class_name: str) -> str:
    """Return the variable scope of a model: `MMoELayer` -> `mmoe`, `ShareBottomLayer` -> `share_bottom`."""
    name = class_name.removesuffix("Layer") or class_name
    name = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z]+)$", r"\1\2", name)
    return name.lower().strip("_") or "model"


def assemble(
    program: Program, rewritten: cst.Module, names: Names, expressions: list[str], loss: str, sdk: SdkText = _NOTHING
) -> str:
    """Return the text of the converted module.

    Its layers are those of `runtime.nn` and share one table, whose columns have different initializers. For a target
    without such tables (`OwnNames`), a class in the file has what it uses of `runtime.nn`, and there is one table per
    initializer: those of `embedding_tables()` of the model, which `sdk` or the program creates.

    Args:
        program: the executed model.
        rewritten: its file with Paddle's calls replaced.
        names: how the file spells TensorFlow and layers.
        expressions: the input layers as Python expressions over `self`; empty if there are none.
        loss: the text of `create_loss`.
        sdk: what the file needs of an SDK.
    """
    own, nn = isinstance(names, OwnNames), names.module()
    body = rewritten.with_changes(body=[_finish_model(program, item, expressions, nn, own) for item in rewritten.body])
    head, rest = _split_at_imports(body)
    parts = [rest.strip("\n"), loss]
    parts += [_create_table(program)] if expressions and not own else []
    parts += [sdk.functions, _build_model(program, bool(expressions), nn)]
    carried = [definition("\n".join(parts), nn)] if own else []
    parts = [*prologue(program, expressions, names, sdk.imports), *carried, *parts]
    body_text = "\n\n\n".join(part.strip("\r\n") for part in parts if part.strip()) + "\n"
    text = (_headed(head, body_text) + body_text).replace("\r\n", "\n")
    return text.replace("\n", rewritten.default_newline)


def _split_at_imports(body: cst.Module) -> tuple[tuple[str, str], str]:
    """Return the title, the imports, and the text after them."""
    title: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    imports: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    after: list[cst.BaseStatement | cst.SimpleStatementLine] = []
    for index, statement in enumerate(body.body):
        if _is_import(statement):
            imports.append(statement)
        else:
            (after if index or not _is_text(statement) else title).append(statement)
    head = body.with_changes(body=title, footer=[])
    kept = body.with_changes(
        header=[] if title or after[:1] == [body.body[0]] else body.header, body=imports, footer=[]
    )
    rest = body.with_changes(header=[], body=after)
    return (head.code, kept.code), rest.code


def _headed(head: tuple[str, str], body: str) -> str:
    """Return the head of the module: that of the source, and the imports for annotations."""
    title, kept = (part.strip("\r\n") for part in head)
    imports = [line for line in kept.splitlines() if line != _FUTURE]
    names = [name for name in ("Iterable", "Iterator", "Sequence") if re.search(rf"\b{name}\[", body)]
    imports += [f"from collections.abc import {', '.join(names)}"] if names else []
    if not any(re.match(r"from typing import .*\bAny\b", line) for line in imports):
        imports.append("from typing import Any")
    return "\n\n".join([*([title] if title else []), _FUTURE, "\n".join(imports)]) + "\n\n"


def _is_text(statement: cst.BaseStatement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))


def _is_import(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(
        statement.body[0], (cst.Import, cst.ImportFrom)
    )


def _finish_model(
    program: Program, item: cst.BaseStatement, expressions: list[str], nn: str, own: bool
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
    ending = _statements(_constructor_end(expressions, nn, own))
    methods[place] = init.with_changes(body=init.body.with_changes(body=[*init.body.body, *ending], footer=[]))
    if expressions:
        method = cst.parse_module((_TABLES_METHOD if own else _INITIALIZER_METHOD).format(nn=nn)).body[0]
        methods.insert(place + 1, method.with_changes(leading_lines=[cst.EmptyLine(indent=False)]))
    return item.with_changes(body=item.body.with_changes(body=methods))


def _statements(text: str) -> Sequence[cst.BaseStatement]:
    """Parse statements; comments before the first one become part of it."""
    function = cst.parse_module("def f():\n" + textwrap.indent(text, "    ")).body[0]
    assert isinstance(function, cst.FunctionDef) and isinstance(function.body, cst.IndentedBlock)
    return function.body.body


def _constructor_end(expressions: list[str], nn: str, own: bool) -> str:
    if not expressions:
        return "\nself.input_layers = []\nself.emb_dim = 0\n"
    listed = ", ".join(expressions)
    if len(listed) > WIDTH - 30:
        listed = "\n    " + ",\n    ".join(expressions) + ",\n"
    single_list = len(expressions) == 1 and expressions[0].startswith("*")
    value = f"list({expressions[0][1:]})" if single_list else f"[{listed}]"
    tables = "\n# embedding tables, one for each initializer." if own else " one\n# embedding table."
    return (
        "\n# These layers read the model input. One lookup serves them all: the rows of their\n"
        f"# kernels that belong to sparse features stand side by side as the columns of{tables}\n"
        f"self.input_layers = {value}\n"
        f"self.emb_dim = {nn}.one_hot.side_by_side(self, self.input_layers, DENSE_SIZE)\n"
    )


_INITIALIZER_METHOD = '''\
def embedding_initializer(self) -> Any:
    """Return the initial values of the embedding table: in each layer's columns its kernel's."""
    return {nn}.one_hot.initializer(self.input_layers)
'''


_TABLES_METHOD = '''\
def embedding_tables(self) -> list[tuple[int, Any]]:
    """Return (columns, initializer) of each table; their rows side by side are the embedding."""
    return {nn}.one_hot.tables(self.input_layers)
'''


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


def _build_model(program: Program, factored: bool, nn: str) -> str:
    scope = scope_name(program.name)
    inputs = "dense_feature"
    if factored:
        inputs = f"{nn}.one_hot.Input(dense_feature, embedding)"
    outputs = f"outputs = model({inputs})" if program.returns_list else f"outputs = [model({inputs})]"
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
    model.build("{scope}")
    {outputs}
    labels = tf.cast(label, tf.float32)
    loss = create_loss({", ".join(program.loss_arguments)})
    pred = [{", ".join(_predictions(program))}]
    variable = [weight.variable for weight in model.parameters()]
    return {{"loss": loss, "pred": pred, "label": label, "variable": variable}}
'''


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


WIDTH = 120


def prologue(program: Program, expressions: list[str], names: Names, more: str = "") -> list[str]:
    """Return the imports, with `more` lines of them, the constants, and `sparse_keys` if there is a table."""
    spec = program.schema.input
    imports = "import tensorflow.compat.v1 as tf"
    if not isinstance(names, OwnNames):
        wanted = [*(["create_table"] if expressions else []), names.imported]
        imports += f"\n\nfrom runtime import {', '.join(wanted)}"
    imports += f"\n{'' if imports.count(chr(10)) else chr(10)}{more.rstrip()}" if more else ""
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
