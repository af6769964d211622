"""Writes rewritten SavedModels of TensorFlow 1, together with the checkpoint that their graphs share."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rewriter._tf_private import stateful_types
from rewriter.copied_folders import not_copied
from rewriter.graph.reasons import reason_of
from rewriter.offline.rewriting import Rewritten
from runtime import native

v1 = tf.compat.v1
_VARIABLES = Path("variables", "variables")
#: Files that are written anew, or only describe the source.
_NOT_COPIED = ("saved_model.pb", "saved_model.pbtxt", "variables", "fingerprint.pb", ".recmigrate.json")
#: Ops with effects between a checkpoint and variables, beside those of tables, whose names begin with `Rec`.
_KNOWN = frozenset(
    [
        *("Assert", "AssignVariableOp", "Placeholder", "ReadVariableOp", "VarHandleOp", "Variable", "VariableV2"),
        *("MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2"),
        *("HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2"),
        *("LookupTableExport", "LookupTableExportV2", "LookupTableImport", "LookupTableImportV2"),
    ]
)
#: Ops that call functions or Python, although none of them says that it has effects.
_HIDING = ("PartitionedCall", "PyFunc", "Stateless")
#: Ops that write, and how many of their inputs are paths.
_WRITES = {"Save": 1, "SaveSlices": 1, "SaveV2": 1, "MergeV2Checkpoints": 2}
#: Ops that a path may be made by, from the one that the Saver is given.
_PATHS = frozenset(
    [
        *("Const", "Identity", "Pack", "Placeholder", "PlaceholderWithDefault", "ShardedFilename", "StringJoin"),
        *("RegexFullMatch", "Select", "SelectV2", "StaticRegexFullMatch"),
    ]
)


def write_saved_model(model: Any, done: Mapping[str, Rewritten], source: Path, target: Path) -> None:
    """Write a SavedModel with rewritten graphs to the directory `target`, which must be empty.

    The variables are read the way the rewritten graphs restore the source's checkpoint, and written as they save them.

    Raises:
        ValueError: the source has no checkpoint, or a damaged one.
    """
    if (outside := not_copied(source, source)) is not None:
        raise ValueError(f"{outside} is a link that leads out of {source}: replace it by the file it leads to")
    checkpoint = source / _VARIABLES
    if not Path(f"{checkpoint}.index").is_file():
        table = next(table.name for one in done.values() for table in one.plan.tables)
        raise ValueError(
            f"{source} has no {_VARIABLES}.index, so the rows of `{table}` are unknown: export it again with its "
            "variables"
        )
    for meta in (meta for meta, one in zip(model.meta_graphs, done.values(), strict=True) if one.plan.tables):
        with tf.Graph().as_default() as graph:
            native.ops()
            tf.graph_util.import_graph_def(meta.graph_def, name="")
            check_saver(graph, meta.saver_def, source)
    result = type(model)()
    result.CopyFrom(model)
    for meta, rewritten in zip(result.meta_graphs, done.values(), strict=True):
        meta.CopyFrom(rewritten.content)
    (target / "saved_model.pb").write_bytes(result.SerializeToString(deterministic=True))
    _write_checkpoint([one for one in done.values() if one.plan.tables], checkpoint, target / _VARIABLES)
    for path in source.iterdir():
        if path.name not in _NOT_COPIED:
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, target / path.name)


def _gone(done: Rewritten) -> set[str]:
    return {name for table in done.plan.tables for name in table.variables}


def _write_checkpoint(graphs: Sequence[Rewritten], source: Path, target: Path) -> None:
    """Restore and save with each graph, the one with most slots first; merge the results and the remaining tensors."""
    target.parent.mkdir()
    parts: dict[Path, list[str]] = {}
    known: set[str] = set()
    for number, graph in enumerate(sorted(graphs, key=lambda rewritten: -len(_gone(rewritten)))):
        part = target.with_name(f"part{number}")
        _save_again(graph.content, source, part)
        parts[part] = [name for name, _ in tf.train.list_variables(str(part)) if name not in known]
        known |= set(parts[part])
    gone = set().union(*(_saved_names(one) for one in graphs))
    parts[source] = [name for name, _ in tf.train.list_variables(str(source)) if name not in known | gone]
    _join({path: names for path, names in parts.items() if names}, target)
    for path in target.parent.glob("part*"):
        path.unlink()


def _saved_names(done: Rewritten) -> set[str]:
    """Return the names in the checkpoint of the replaced variables and their slots."""
    return {name for part in done.plan.savers for saved in part.tables for name in saved.names}


def _save_again(meta: Any, source: Path, target: Path) -> None:
    native.ops()
    options = v1.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=options) as session:
        saver = v1.train.import_meta_graph(meta)
        try:
            saver.restore(session, str(source))
        except (tf.errors.OpError, ValueError) as error:
            raise ValueError(
                f"the variables in {source.parent} cannot be read: {reason_of(error)}; export them again"
            ) from error
        saver.save(session, str(target), write_meta_graph=False, write_state=False)


def _join(parts: Mapping[Path, list[str]], target: Path) -> None:
    """Write the named tensors of several checkpoints into one checkpoint."""
    names, tensors = [], []
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        for path, some in parts.items():
            types = tf.train.load_checkpoint(str(path)).get_variable_to_dtype_map()
            tensors += tf.raw_ops.RestoreV2(
                prefix=str(path),
                tensor_names=some,
                shape_and_slices=[""] * len(some),
                dtypes=[types[one] for one in some],
            )
            names += some
        save = tf.raw_ops.SaveV2(
            prefix=str(target), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors
        )
        session.run(save)


def check_saver(graph: Any, saver: Any, source: Path) -> None:
    """Raise ValueError unless a Saver runs ops that read and write a checkpoint, and no others with effects.

    Args:
        graph: the tf.Graph.
        saver: the SaverDef.
        source: where both come from, for the message.
    """
    filename = _op(graph, saver.filename_tensor_name)
    for op in _before([_op(graph, saver.restore_op_name), _op(graph, saver.save_tensor_name)]):
        kinds = _effects(op)
        for kind in sorted((kinds - _KNOWN) | (kinds & _WRITES.keys() - {op.type})):
            raise ValueError(
                f"the Saver of {source} runs `{op.name}` ({kind}), which neither reads nor writes a checkpoint: "
                "export the model again"
            )
        if not all(_is_at(path.op, filename) for path in list(op.inputs)[: _WRITES.get(op.type, 0)]):
            raise ValueError(f"the Saver of {source} writes elsewhere, in `{op.name}`: export the model again")


def _op(graph: Any, name: str) -> Any:
    try:
        return graph.get_operation_by_name(name.partition(":")[0])
    except KeyError as error:
        raise ValueError(f"the graph has no op `{name}`, which its Saver names: export the model again") from error


def _effects(op: Any) -> set[str]:
    """Return the types of the ops with effects that run when an op runs, beside those of tables."""
    called = stateful_types(op) - {op.type}
    hidden = {op.type} if op.type.startswith(_HIDING) else set[str]()
    own = {op.type} & stateful_types(op)
    return {kind for kind in own | hidden | called if not kind.startswith("Rec")}


def _is_at(path: Any, tensor: Any) -> bool:
    """Return whether a path begins with the one that the Saver is given, and does not lead back up."""
    before = _before([path], stop=tensor)
    texts = [text for op in before if op.type == "Const" for text in op.get_attr("value").string_val]
    return tensor in before and all(op.type in _PATHS for op in before) and not any(b".." in text for text in texts)


def _before(ops: list[Any], stop: Any = None) -> list[Any]:
    """Return ops and all that runs before them; with `stop`, only what gives them values, and nothing before that."""
    seen: dict[Any, None] = {}
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen[op] = None
            waiting += [one.op for one in op.inputs] if op is not stop else []
            waiting += op.control_inputs if stop is None else []
    return list(seen)
