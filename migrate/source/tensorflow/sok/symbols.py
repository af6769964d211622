"""Names of SOK and Horovod: how an expression resolves, and its counterpart in the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import libcst as cst

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.rule_kinds import File

#: The rules for SOK.
VARIABLE, LOOKUP, OPTIMIZER, PROGRAM = "tf-sok-variable", "tf-sok-lookup", "tf-sok-optimizer", "tf-sok-program"

ROOT, HOROVOD = "sparse_operation_kit", "horovod"
LAYERS = ("DistributedEmbedding", "All2AllDenseEmbedding")
MAKERS = ("Variable", "DynamicVariable", *LAYERS)
FILTERS = ("filter_variables", "split_embedding_variable_from_others")
_OPTIMIZERS = {name: f"optimizers.{name}" for name in ("Adam", "LazyAdamOptimizer")}
#: The modules of the runtime's names that are written.
HOMES = {
    **dict.fromkeys(
        (
            "create_table", "get_dense_and_sparse_variable", "grouped_embedding_lookup_sparse", "local_lookup",
            "local_rows", "ranks", "sparse_lookup", "table_of_rows", "tables", "unique_name",
        ),
        "runtime",
    ),
    **dict.fromkeys(
        (
            "adadelta", "adagrad", "adam", "ftrl", "gradient_descent", "keras_adam", "lazy_adam", "momentum", "rmsprop",
        ),
        "runtime.optimizers",
    ),
    "checkpoint": "runtime.ranks",
    "nullcontext": "contextlib",
}  # fmt: skip
#: Functions without a counterpart that an edit could write, and the action for each.
LACKING = {
    "incremental_model_dump": "save whole checkpoints by runtime.ranks.checkpoint",
    "Saver": "save by runtime.ranks.checkpoint",
    "TFDistributedEmbedding": "",
    "get_embedding": "",
}


#: What reads or writes rows of one rank.
LOCAL = ("assign", "export", "sparse_read_and_evict")
#: What saves and restores rows, and its parameters.
STORES = {"dump": ("path", "dump_vars", "optimizer"), "load": ("path", "load_vars", "optimizer")}
#: Names that SOK also has in submodules.
_ANYWHERE = {
    *MAKERS, *FILTERS, *LACKING, *LOCAL, *STORES, "lookup_sparse", "all2all_dense_embedding", "OptimizerWrapper", "SGD",
    "init", "Init", "OptimizerScope",
}  # fmt: skip


def sok_name(tree: Tree, node: cst.CSTNode) -> str:
    """Return the name in SOK of the expression `node`, such as `lookup_sparse`; empty for any other expression."""
    name = _qualified(tree, node, ROOT).partition(".")[2]
    last = name.rpartition(".")[2]
    return last if last in _ANYWHERE else _OPTIMIZERS.get(last, name)


def horovod_name(tree: Tree, node: cst.CSTNode) -> str:
    """Return the name in `horovod.tensorflow` of the expression `node`, such as `init`; empty for any other."""
    whole = _qualified(tree, node, HOROVOD).removeprefix(HOROVOD).removeprefix(".")
    return whole.removeprefix("tensorflow").removeprefix(".").removeprefix("keras.")


def _qualified(tree: Tree, node: cst.CSTNode, root: str) -> str:
    if not isinstance(node, cst.Name | cst.Attribute):
        return ""
    imported, shadowed = tree.imported_names(node)
    if shadowed or len(imported) != 1:
        return ""
    name = next(iter(imported))
    return name if name == root or name.startswith(root + ".") else ""


def spelled(tree: Tree) -> Iterator[cst.Name | cst.Attribute]:
    """Yield every name and attribute of a file."""
    for names in tree.names.values():
        yield from names
    for attributes in tree.attributes.values():
        yield from attributes


def imports_of(tree: Tree, root: str) -> Iterator[cst.Import | cst.ImportFrom]:
    """Yield the imports of a package and of its submodules."""
    for statement in tree.imports:
        if isinstance(statement, cst.Import):
            names = [tree.source(alias.name) for alias in statement.names]
        else:
            module = statement.module
            names = [tree.source(module)] if module is not None and not statement.relative else []
        if any(name == root or name.startswith(root + ".") for name in names):
            yield statement


def sok_calls(file: File) -> list[tuple[cst.Call, str]]:
    """Return the calls of SOK's functions in source order, with their names."""
    if file.tree not in _CALLS:
        found = [(call, sok_name(file.tree, call.func)) for call in file.tree.calls]
        _CALLS[file.tree] = [(call, name) for call, name in found if name]
    return _CALLS[file.tree]


_CALLS: WeakKeyDictionary[Tree, list[tuple[cst.Call, str]]] = WeakKeyDictionary()


def reads_sok(file: File) -> bool:
    """True for a file that imports SOK and whose calls are converted."""
    return any(imports_of(file.tree, ROOT))
