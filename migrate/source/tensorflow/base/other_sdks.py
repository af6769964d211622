"""Programs of other SDKs, SparseOperationKit and DeepRec: how they are told, and the façade that runs each as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, cached_list


@dataclass(frozen=True)
class Sdk:
    """An SDK whose programs a façade of the runtime runs unchanged."""

    title: str
    target: str  #: the target that writes its names
    modules: tuple[str, ...]  #: modules that it has and stock TensorFlow lacks
    symbols: frozenset[str] = frozenset()  #: last names of what it adds to TensorFlow

    @property
    def facade(self) -> str:
        """The module of the runtime that serves its names."""
        return f"runtime.compat.{self.target}"

    @property
    def imported(self) -> re.Pattern[str]:
        """Text that uses its modules or symbols; a comment, or an import in a block or of a symbol, does not match."""
        modules = "|".join(map(re.escape, self.modules))
        symbols = "|".join(map(re.escape, sorted(self.symbols)))
        statement = rf"^(?:import|from)[ \t]+(?:{modules})\b"
        return re.compile(statement + (rf"|^[^#\n\"']*\.(?:{symbols})\b" if symbols else ""), re.MULTILINE)


RULE = "tf-other-sdk"
SOK = Sdk("SparseOperationKit", "sok", ("sparse_operation_kit",))
DEEPREC = Sdk(
    "DeepRec",
    "deeprec",
    (
        "tensorflow.core.framework.embedding", "tensorflow.python.ops.work_queue",
        "tensorflow.python.data.experimental.ops.parquet_dataset_ops",
    ),
    frozenset({
        "get_embedding_variable", "get_multihash_variable", "get_dynamic_dimension_embedding_variable",
        "EmbeddingVariableOption", "StorageOption", "InitializerOption", "CheckpointOption", "CounterFilter",
        "CBFFilter", "GlobalStepEvict", "L2WeightEvict", "categorical_column_with_embedding",
        "sequence_categorical_column_with_embedding", "sparse_column_with_embedding", "sparse_column_wth_embedding",
        "categorical_column_with_adaptive_embedding", "categorical_column_with_multihash",
        "adaptive_embedding_lookup_sparse", "group_embedding_lookup", "group_embedding_lookup_sparse",
        "group_embedding_column_scope", "enable_distributed_strategy", "enable_group_embedding", "DistributedHashTable",
        "AdagradDecayOptimizer", "AdagradDecayOptimizerV2", "AdamAsyncOptimizer", "AdamWOptimizer",
    }),
)  # fmt: skip
SDKS = (SOK, DEEPREC)
#: Stock TensorFlow 1 has an optimizer of the same name as one of DeepRec's.
_STOCK = "contrib.opt."
#: Words without which no file is a program of another SDK.
WORDS = "|".join(sorted({name.rpartition(".")[2] for sdk in SDKS for name in sdk.modules}.union(DEEPREC.symbols)))


def mention(file: File, sdk: Sdk, *, tried: bool = False) -> cst.CSTNode | None:
    """Return the first code of a file that uses the SDK, or None; with `tried`, one that the program may do without."""
    uses = sorted(_mentions(file, sdk), key=file.tree.span)
    return next((one for one in uses if _is_tried(file.tree, one) is tried), None)


def _is_tried(tree: Tree, use: cst.CSTNode) -> bool:
    """True for an import that may fail: `try: import sparse_operation_kit`, with an `except`."""
    around = tree.enclosing(use, cst.Try) if isinstance(use, (cst.Import, cst.ImportFrom)) else None
    return around is not None and bool(around.handlers)


def of_other_sdk(file: File, node: cst.CSTNode) -> Blocker | None:
    """Return what keeps the code of a program that is another SDK's, unless that SDK is the target; else None."""
    for part in file.program(node):
        for sdk in SDKS:
            use = mention(part, sdk) if sdk.target != file.target.name else None
            if use is not None:
                return kept_by(part, sdk, use, "program")
    return None


def is_apart(blockers: Sequence[Blocker]) -> bool:
    """True for what stays because of its program alone, of which the rule says so once."""
    return all(one.rule == RULE and one.key == "program" for one in blockers)


def kept_by(file: File, sdk: Sdk, use: cst.CSTNode, key: str) -> Blocker:
    """Return what a use of another SDK keeps: all of the program; `key` is the row of the rule."""
    link = file.tree.link
    script = file.tree.path if link is None else link.started()
    return blocker(use, RULE, key, text=file.tree.excerpt(use), title=sdk.title, facade=sdk.facade, script=script)


@cached_list
def _mentions(file: File, sdk: Sdk) -> Iterator[cst.CSTNode]:
    tree = file.tree
    for statement in tree.imports:
        if any(f"{name}.".startswith(f"{module}.") for name in _imported(tree, statement) for module in sdk.modules):
            yield statement
    yield from (text for text in tree.strings if string(text) in sdk.modules)  # `import_module("...")`
    for node in file.names.mentions(sdk.symbols.__contains__) if sdk.symbols else ():
        name = file.names.of(node) or ""
        if name.rpartition(".")[2] in sdk.symbols and not name.startswith(_STOCK):
            yield node


def _imported(tree: Tree, statement: cst.Import | cst.ImportFrom) -> list[str]:
    """Return the modules that a statement imports, and what it imports from them."""
    if isinstance(statement, cst.Import):
        return [tree.source(alias.name) for alias in statement.names]
    if statement.module is None or statement.relative:
        return []
    module = tree.source(statement.module)
    if isinstance(statement.names, cst.ImportStar):
        return [module]
    return [f"{module}.{tree.source(alias.name)}" for alias in statement.names]
