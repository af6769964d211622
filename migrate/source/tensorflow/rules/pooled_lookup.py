"""`tf.nn.embedding_lookup_sparse`, `tf.nn.safe_embedding_lookup_sparse` -> the runtime's functions of these names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.model import Blocker, Lookup, blocker
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, TABLE
from migrate.source.tensorflow.facts.variables.lookups import bind_either, make_lookup, strategy


@dataclass(frozen=True)
class _Form:
    """The arguments of one function: in the order of v1, in that of v2, and those of the runtime."""

    orders: tuple[tuple[str, ...], tuple[str, ...]]
    tells: int  #: the first position at which the orders differ
    leading: int  #: the runtime's order is the same up to here
    keywords: dict[str, str]
    ids: str
    function: str
    strategy: str

    def bind(self, call: cst.Call) -> dict[str, cst.Arg] | None:
        return bind_either(call, self.orders, self.tells, self._version)

    def _version(self, arg: cst.Arg) -> int | None:
        """Return the version of a call: v1 has a name or a partition strategy where v2 has a combiner or a norm."""
        value: Any = literal(arg.value)
        if isinstance(value, str):
            return int(value in {"mean", "sqrtn", "sum"})
        return None if value is ... else 1


PLAIN = _Form(
    (
        ("params", "sp_ids", "sp_weights", "partition_strategy", "name", "combiner", "max_norm", "allow_fast_lookup"),
        ("params", "sp_ids", "sp_weights", "combiner", "max_norm", "name", "allow_fast_lookup"),
    ),
    3, 3, {"params": "table"}, "sp_ids", "embedding_lookup_sparse", "default",
)  # fmt: skip
_SAFE = ("embedding_weights", "sparse_ids", "sparse_weights", "combiner", "default_id")
SAFE = _Form(
    (
        (*_SAFE, "name", "partition_strategy", "max_norm", "allow_fast_lookup"),
        (*_SAFE, "max_norm", "name", "allow_fast_lookup"),
    ),
    5, 5, {"embedding_weights": "table"}, "sparse_ids", "safe_embedding_lookup_sparse", "div",
)  # fmt: skip
FORMS = {
    "nn.embedding_lookup_sparse": PLAIN,
    "nn.safe_embedding_lookup_sparse": SAFE,
    "contrib.layers.safe_embedding_lookup_sparse": SAFE,
}
FILLS = "an example without ids reads row 0 with a gradient of zeros"
KEPT = ("sp_weights", "sparse_weights", "combiner", "default_id", "max_norm", "name")


@register
class PooledLookups(LookupRule):
    """A lookup with a combiner, which reduces the rows of each example to one."""

    id = "tf-embedding-lookup-sparse"
    title = "A lookup with a combiner becomes the runtime's; arguments for partitions are removed"
    symbols = frozenset(FORMS)
    takes_lists = True
    refusals = (
        Refusal(
            "ambiguous-argument",
            "an argument of this lookup is not a literal",
            "the v1 and the v2 API have different arguments at this position",
            "pass it by name",
        ),
    )
    examples = (
        Example(
            "the default combiner is the mean before and after",
            HEAD + TABLE + "e = tf.nn.embedding_lookup_sparse(W, sp, None)\n",
            HEAD + "from runtime import create_table, embedding_lookup_sparse\n" + CREATED + ""
            "e = embedding_lookup_sparse(W, sp, None)\n",
        ),
        Example(
            "positional arguments of v2",
            HEAD + TABLE + 'e = tf.nn.embedding_lookup_sparse(W, sp, w, "sum", 1.0, "e")\n',
            HEAD + "from runtime import create_table, embedding_lookup_sparse\n" + CREATED + ""
            'e = embedding_lookup_sparse(W, sp, w, combiner="sum", max_norm=1.0, name="e")\n',
        ),
        Example(
            "the safe lookup",
            HEAD + TABLE + "e = tf.contrib.layers.safe_embedding_lookup_sparse(\n"
            '    embedding_weights=W, sparse_ids=sp, combiner="sum", partition_strategy="div", default_id=0)\n',
            HEAD + "from runtime import create_table, safe_embedding_lookup_sparse\n" + CREATED + ""
            'e = safe_embedding_lookup_sparse(\n    table=W, sparse_ids=sp, combiner="sum", default_id=0)\n',
        ),
        Example(
            "a positional argument that may belong to v1 or v2",
            HEAD + TABLE + "e = tf.nn.embedding_lookup_sparse(W, sp, w, how)\n",
            says="by name",
        ),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        for form in (PLAIN, SAFE):
            if (bound := form.bind(call)) is not None:
                return next((bound[name] for name in form.keywords if name in bound), None)
        return call.args[0] if call.args else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        form = FORMS[file.names.of(call.func) or ""]
        bound = form.bind(call)
        if bound is None:
            return blocker(call, self.id, "ambiguous-argument")
        fast = bound.get("allow_fast_lookup")
        dense = fast is not None and literal(fast.value) is not False
        fills = form is SAFE and is_none(bound.get("default_id"))
        return make_lookup(
            call,
            self.id,
            bound,
            form.ids,
            KEPT,
            form.keywords,
            form.leading,
            function=form.function,
            idle="`allow_fast_lookup` gives a gradient for all rows" if dense else FILLS if fills else "",
            dense=dense,
            strategy=strategy(bound.get("partition_strategy"), form.strategy),
        )
