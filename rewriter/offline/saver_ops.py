"""Whether the Saver of a graph in a file only restores and saves: running it runs whatever the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewriter._tf_private import stateful_types

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


def check_saver(graph: Any, saver: Any, source: Path) -> None:
    """Raise ValueError unless a Saver runs ops that read and write a checkpoint, and no others with effects.

    Args:
        graph: the tf.Graph.
        saver: the SaverDef.
        source: where both come from, for the message.
    """
    given = _op(graph, saver.filename_tensor_name)
    for op in _before([_op(graph, saver.restore_op_name), _op(graph, saver.save_tensor_name)]):
        kinds = _effects(op)
        for kind in sorted((kinds - _KNOWN) | (kinds & _WRITES.keys() - {op.type})):
            raise ValueError(
                f"the Saver of {source} runs `{op.name}` ({kind}), which neither reads nor writes a checkpoint: "
                "export the model again"
            )
        if not all(_is_at(path.op, given) for path in list(op.inputs)[: _WRITES.get(op.type, 0)]):
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


def _is_at(path: Any, given: Any) -> bool:
    """Return whether a path begins with the one that the Saver is given, and does not lead back up."""
    before = _before([path], stop=given)
    texts = [text for op in before if op.type == "Const" for text in op.get_attr("value").string_val]
    return given in before and all(op.type in _PATHS for op in before) and not any(b".." in text for text in texts)


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
