"""Tables and lookups of a converted module in the words of an SDK: two functions, and their imports.

A module for another SDK than the runtime has its layers itself, and needs TensorFlow and that SDK alone. One for the
runtime has its table from `module`; it gets the lookup where switches say how ids are looked up.
"""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field

from migrate.source.paddle.one_hot.program import Program
from migrate.source.settings.options import NO_SWITCHES
from migrate.targets.base import LookupText, Spelling, TableText, Target
from migrate.targets.switches import Switches

_INITIALIZER = '''\
def initializer_text(initializer: Any) -> str:
    """Return what SparseOperationKit calls an initializer: a number, or a law that has its own range there."""
    if isinstance(initializer, tf.constant_initializer):
        return str(initializer.value)
    return "uniform" if isinstance(initializer, tf.random_uniform_initializer) else "normal"
'''.rstrip()
#: Longest call that stays on one line.
_MOST = 100
_TABLE = TableText(
    "embedding", "columns", "SPARSE_ROWS", "initializer", called='"embedding" if number == 0 else f"embedding_{number}"'
)


@dataclass
class Functions:
    """The functions of a target that a text calls, by their local names."""

    target: Target
    used: dict[str, str] = field(default_factory=dict)  #: name in the plan -> local name

    def __call__(self, name: str) -> str:
        """Return the spelling of a function, and import it unless it is TensorFlow's."""
        function = self.target.functions[name]
        if function.of:
            return f"{self(function.of)}.{function.name}"
        if not function.module:
            return f"tf.{function.name}"
        self.used[name] = function.name if not function.whole else name
        return self.used[name]


@dataclass(frozen=True)
class SdkText:
    """What a module gets for its SDK; both texts are empty where it needs nothing."""

    imports: str = ""
    functions: str = ""


def names_bound(target: Target) -> frozenset[str]:
    """Return the names that the functions of any module for a target bind."""
    own = {"create_embedding_tables", "lookup_embedding", "initializer_text"}
    return frozenset(
        own | {one.name for one in target.functions.values() if one.module and not one.whole} | {"sok", "hvd"}
    )


def sdk_text(program: Program, target: Target, switches: Switches) -> SdkText:
    """Return the functions that make the tables of a model and look ids up, for a target with switches."""
    own = target.name != "runtime"
    if not own and switches == NO_SWITCHES:
        return SdkText()
    functions = Functions(target)
    spelling = Spelling("tf", "tf", functions, "\n", switches)
    parts = [_INITIALIZER] if target.name == "sok" else []
    parts += [_create(program, target, spelling)] if own else []
    parts.append(_look_up(target, spelling, len(program.schema.input.sparse)))
    return SdkText(target.imports(functions.used, "\n"), "\n\n\n".join(parts))


def _create(program: Program, target: Target, spelling: Spelling) -> str:
    device = target.device(spelling.switches)
    scope = f'        with tf.device("{device}"):\n' if device else ""
    lead = f"{'    ' if device else ''}        tables.append("
    return f'''\
def create_embedding_tables(model: {program.name}) -> list[Any]:
    """Return a table for each initializer of `model.embedding_tables()`, of SPARSE_ROWS rows."""
    tables: list[Any] = []
    for number, (columns, initializer) in enumerate(model.embedding_tables()):
{scope}{lead}{target.create(spelling, _TABLE, lead)})
    return tables
'''.rstrip()


def _look_up(target: Target, spelling: Spelling, features: int) -> str:
    several, documented = target.name != "runtime", ""
    parameters = "tables: list[Any]" if several else "table: Any"
    training = ", is_training: Any = True" if target.takes_is_train else ""
    if target.takes_is_train:
        documented = "\n        is_training: whether the lookup is for training; a bool, or a scalar tensor."
    rows = f"rows = {_broken(_rows(target, spelling), 0)}"
    body = f"{rows}\nreturn tf.reduce_sum(rows, axis=1)"
    if several:
        body = "found = []\nfor table in tables:\n" + textwrap.indent(rows, "    ")
        body += "\n    found.append(tf.reduce_sum(rows, axis=1))"
        body += "\nreturn tf.concat(found, axis=1)"
    return f'''\
def lookup_embedding({parameters}, sparse_feature: tf.Tensor{training}) -> tf.Tensor:
    """Return the rows of the keys, summed over the features: `embedding` of `build_model`.

    Args:
        {"tables: those of `create_embedding_tables`." if several else "table: that of `create_embedding_table`."}
        sparse_feature: ids [batch, {features}].{documented}
    """
    keys = sparse_keys(sparse_feature)
{textwrap.indent(body, "    ")}
'''.rstrip()


def _rows(target: Target, spelling: Spelling) -> str:
    """Return the expression of the rows, [batch, features, columns]."""
    if target.lookup is not None:
        return target.lookup(spelling, LookupText("sparse_lookup", "table", "keys", "keys", "table.dimension"))
    training = ", is_train=is_training" if target.takes_is_train else ""
    arguments = training + target.arguments(spelling, "sparse_lookup")
    return f"{spelling.function('sparse_lookup')}(table, keys{arguments})"


def _broken(text: str, indent: int) -> str:
    """Return a call or a dict, with a line for each part where it is too long."""
    node = ast.parse(text, mode="eval").body
    pad = " " * indent
    if len(text) + indent < _MOST or not isinstance(node, (ast.Call, ast.Dict)):
        return text
    if isinstance(node, ast.Dict):
        pairs = [(_source(text, key), _source(text, value)) for key, value in zip(node.keys, node.values, strict=True)]
        return "{\n" + "".join(f"{pad}    {key}: {value},\n" for key, value in pairs) + f"{pad}}}"
    parts = [_broken(_source(text, one), indent + 4) for one in node.args]
    for keyword in node.keywords:
        parts.append(f"{keyword.arg}={_broken(_source(text, keyword.value), indent + 4)}")
    return f"{_source(text, node.func)}(\n" + "".join(f"{pad}    {part},\n" for part in parts) + f"{pad})"


def _source(text: str, node: ast.AST | None) -> str:
    return "" if node is None else ast.get_source_segment(text, node) or ""
