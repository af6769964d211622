"""Resolves expressions to canonical TensorFlow symbols, independent of the import style."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from itertools import chain

import libcst as cst

from migrate.source.flow import ValueFlow
from migrate.source.syntax.node_index import dotted
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.bindings import analysed, assigned_value, binders, is_defined

ROOTS = ("tensorflow", "tensorflow_core")
#: Standalone Keras, whose symbols equal those of `tf.keras`.
KERAS = ("keras",)
#: Prefixes under which v1 symbols are published. They are removed, as often as one matches.
PREFIXES = (
    "compat.v1.", "_api.v1.", "python.framework.ops.", "python.ops.array_ops.", "python.ops.init_ops.",
    "python.ops.variable_scope.",
)  # fmt: skip
#: Other spellings of a symbol.
ALIASES = {
    "python.ops.embedding_ops.embedding_lookup": "nn.embedding_lookup",
    "python.ops.embedding_ops.embedding_lookup_sparse": "nn.embedding_lookup_sparse",
    "python.ops.embedding_ops.safe_embedding_lookup_sparse": "nn.safe_embedding_lookup_sparse",
    "random.normal": "random_normal",
    "random.truncated_normal": "truncated_normal",
    "random.uniform": "random_uniform",
    "initializers.glorot_uniform": "glorot_uniform_initializer",
    "initializers.glorot_normal": "glorot_normal_initializer",
    "initializers.random_normal": "random_normal_initializer",
    "initializers.random_uniform": "random_uniform_initializer",
    "initializers.truncated_normal": "truncated_normal_initializer",
    "initializers.constant": "constant_initializer",
    "initializers.zeros": "zeros_initializer",
    "initializers.ones": "ones_initializer",
    "initializers.variance_scaling": "variance_scaling_initializer",
    "contrib.layers.variance_scaling_initializer": "contrib_variance_scaling_initializer",
    "contrib.layers.xavier_initializer": "xavier_initializer",
    "train.global_step": "train.get_global_step",
    "pow": "math.pow",
}
#: Modules with symbols that create, look up or train variables.
MODULES = re.compile(r"(tensorflow|tensorflow_core)(\.compat\.v[12]|\._api\.v[12])*(\.nn|\.train|\.python\.ops\.\w+)?")
#: Symbols that exist only in the v1 API, whose spelling shows how a file accesses it.
V1_ONLY = re.compile(
    r"(get_variable|placeholder|Session|InteractiveSession|variable_scope|global_variables_initializer|trainable_variables"
    r"|global_variables|get_collection|disable_eager_execution|disable_v2_behavior|reset_default_graph|layers\.\w+"
    r"|train\.(\w+Optimizer|MonitoredTrainingSession|get_global_step|get_or_create_global_step|Saver)"
    r"|(truncated_normal|glorot_\w+|variance_scaling)_initializer|set_random_seed|random_normal|random_uniform|truncated_normal)$"
)
#: Calls that read rows by ids, whether or not they can be converted.
LOOKUP_LIKE = {
    "nn.embedding_lookup", "gather", "gather_nd", "nn.embedding_lookup_sparse", "nn.safe_embedding_lookup_sparse",
    "contrib.layers.safe_embedding_lookup_sparse", "sparse_tensor_dense_matmul", "sparse.sparse_dense_matmul",
    "sparse.matmul",
}  # fmt: skip
#: A part of the name of every lookup function of TensorFlow, including older and internal ones, except gathers.
WORD = "embedding_lookup"


def is_lookup(name: str | None) -> bool:
    """True for the canonical name of a TensorFlow function that reads rows by ids."""
    return name is not None and (name in LOOKUP_LIKE or WORD in name.rpartition(".")[2])


class TfNames:
    """Resolves expressions of one file to canonical v1 names such as `nn.embedding_lookup`.

    `foreign` are qualified names outside of TensorFlow that rules read as well, such as `acme.layers.lookup`.
    """

    def __init__(self, tree: Tree, foreign: frozenset[str] = frozenset()) -> None:
        self.tree = tree
        self._foreign = foreign
        self._module_aliases = {
            name for name, uses in tree.names.items() if any(self._rebinds_module(use) for use in uses)
        }
        self._aliases = {name for name, uses in tree.names.items() if any(self._names_tensorflow(use) for use in uses)}
        self.calls = [(call, name) for call in tree.calls if (name := self.of(call.func))]
        self.v1_prefix = self._find_v1_prefix()

    def _rebinds_module(self, use: cst.Name) -> bool:
        """True for the target of `tf = tf.compat.v1`, after which `tf` still means TensorFlow."""
        target = self.tree.parent(use)
        assign = self.tree.parent(target) if isinstance(target, cst.AssignTarget) else None
        if not isinstance(assign, cst.Assign):
            return False
        imported, _ = self.tree.imported_names(assign.value)
        return bool(imported) and all(name in {"tensorflow", "tensorflow.compat.v1"} for name in imported)

    def _names_tensorflow(self, use: cst.Name) -> bool:
        """True for the target of `v1 = tf.compat.v1` or `lookup = tf.nn.embedding_lookup`."""
        value = assigned_value(self.tree, use)
        imported = self.tree.imported_names(value)[0] if isinstance(value, (cst.Name, cst.Attribute)) else ()
        return any(name.split(".")[0] in ROOTS for name in imported)

    def _through_alias(self, node: cst.Name | cst.Attribute) -> str | None:
        """Resolve an expression through a name that the file binds once to a TensorFlow symbol."""
        inner = leftmost(node)
        if inner is None or inner.value not in self._aliases:
            return None
        bound = binders(self.tree, inner)
        value = assigned_value(self.tree, bound[0]) if len(bound) == 1 and not is_defined(self.tree, inner) else None
        imported, shadowed = self.tree.imported_names(value) if value is not None else (frozenset(), True)
        if shadowed or len(imported) != 1:
            return None
        return canonical(next(iter(imported)) + dotted(node)[len(inner.value) :])

    @cached_property
    def flow(self) -> ValueFlow:
        """The value flow analysis of the program that contains the file, computed on first use."""
        return analysed(self.tree)

    def calls_of(self, symbols: Collection[str]) -> list[tuple[cst.Call, str]]:
        """Return the calls of these canonical symbols, in source order."""
        listed = [self._calls_by_name[name] for name in set(symbols) if name in self._calls_by_name]
        return [self.calls[place] for place in (listed[0] if len(listed) == 1 else sorted(chain(*listed)))]

    @cached_property
    def _calls_by_name(self) -> dict[str, list[int]]:
        """The places of the calls of each symbol in `calls`."""
        places: dict[str, list[int]] = {}
        for place, (_, name) in enumerate(self.calls):
            places.setdefault(name, []).append(place)
        return places

    def uncalled_lookups(self) -> list[cst.Name | cst.Attribute]:
        """Return the mentions of lookup functions other than calls, in source order."""
        mentions = self.mentions(lambda name: WORD in name or name in {"gather", "gather_nd"})
        return [node for node in mentions if self.tree.call_of(node) is None and is_lookup(self.of(node))]

    def of(self, node: cst.CSTNode) -> str | None:
        """Return the canonical name of the symbol that imports, and names bound once, give `node`."""
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return None
        imported, shadowed = self.tree.imported_names(node)
        if not imported:
            return self._through_alias(node)
        first = leftmost(node)
        if shadowed and (first is None or first.value not in self._module_aliases):
            return None
        names = {name if name in self._foreign else canonical(name) for name in imported}
        return names.pop() if len(names) == 1 else None

    def mentions(self, word: Callable[[str], bool]) -> list[cst.Name | cst.Attribute]:
        """Return the mentions of names that `word` accepts, and of names that imports and assignments alias.

        They are in source order. Names of parameters, keywords and definitions are excluded.
        """
        aliases = self.tree.aliases | self._aliases
        mentions: list[cst.Name | cst.Attribute] = []
        for name, uses in self.tree.names.items():
            mentions += [use for use in uses if self._stands_alone(use)] if word(name) or name in aliases else []
        for name, attributes in self.tree.attributes.items():
            mentions += attributes if word(name) else []
        return sorted(mentions, key=lambda node: self.tree.span(node)[0])

    def _stands_alone(self, use: cst.Name) -> bool:
        """True for a name that is read, rather than a part of a longer name, a keyword or a definition."""
        around = self.tree.parent(use)
        part = isinstance(around, cst.Attribute)
        keyword = isinstance(around, cst.Arg) and around.keyword is use
        kinds = cst.ImportAlias | cst.AsName | cst.FunctionDef | cst.ClassDef | cst.Param
        named = isinstance(around, cst.Param) and around.name is not use
        return not part and not keyword and (named or not isinstance(around, kinds))

    def is_module(self, node: cst.CSTNode) -> bool:
        """True if `node` is TensorFlow itself or one of its modules with symbols."""
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return False
        imported, _ = self.tree.imported_names(node)
        return bool(imported) and all(MODULES.fullmatch(name) for name in imported)

    def _find_v1_prefix(self) -> str:
        """Return how this file spells the v1 API, e.g. `tf` or `tf.compat.v1`; empty if it has no name for it."""
        roots = set()
        for call, name in self.calls:
            text = dotted(call.func)
            if leftmost(call.func) is None or not text.endswith("." + name):
                continue
            root = text[: -len(name) - 1]
            imported, _ = self.tree.imported_names(call.func)
            if V1_ONLY.fullmatch(name) or any(one.startswith("tensorflow.compat.v1.") for one in imported):
                return root
            roots.add(root)
        plain = sorted(root for root in roots if "." not in root)
        return f"{plain[0]}.compat.v1" if plain else ""


def leftmost(node: cst.BaseExpression) -> cst.Name | None:
    """Return the first name of a dotted one; None for what an object has that an expression gives."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def canonical(qualified: str) -> str | None:
    """Return the canonical name for a qualified name; None if it is not a name of TensorFlow or Keras."""
    root, _, rest = qualified.partition(".")
    if root in KERAS and rest:
        return f"keras.{rest}"
    if root not in ROOTS or not rest:
        return None
    # v1 itself contains `compat.v1`
    while prefix := next((prefix for prefix in PREFIXES if rest.startswith(prefix)), ""):
        rest = rest[len(prefix) :]
    return ALIASES.get(rest, rest)
