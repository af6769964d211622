"""Variables that code reads by their names, as far as these are known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import by_keyword, method_of, string
from migrate.source.tensorflow.base.model import Blocker, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import AFTER, HEAD, MADE
from migrate.source.tensorflow.facts.calls.variable_scopes import full_name, prefix
from migrate.source.tensorflow.facts.optimizers.optimizers import STOCK
from migrate.source.tensorflow.facts.references.reads_by_name import FUNCTIONS, reads_by_name
from migrate.source.tensorflow.facts.variables.table_names import pattern

OTHER = 'b = sess.run("bias:0")\n'
COMPUTED = "x = graph.get_tensor_by_name(name)\n"

#: Those of them that read a file: no op of the program shows what they read.
OF_FILES = {"get_tensor", "get_variable_value", "has_tensor"}
#: Those that read a file which the program itself has saved.
OF_OWN = {"get_variable_value"}
#: The names of operations inside TensorFlow's lookups, by the end of the function's name.
DEFAULTS = {"gather": "Gather(V2)?"}


@register
class ReadByName(CheckRule):
    """A fetch, a hook or a checkpoint reader that names a variable would not find the rows of a table.

    With `--assume`, a computed name is taken not to be that of the variable.
    """

    id = "tf-read-by-name"
    title = "A variable that is read by its name is left unchanged"
    applicability = None
    refusals = (
        Refusal(
            "its-name",
            "`{text}` reads this variable by its name",
            "the rows of a table are not in a variable of that name",
            "look up the rows instead",
        ),
        Refusal(
            "its-name-in-file",
            "`{text}` reads this variable by its name",
            "a checkpoint that the converted program saves has no variable of that name for the rows of a table",
            "look up the rows instead, or convert with --assume if another program saved the checkpoint",
            "the checkpoint of `{text}` was saved by another program, or before the conversion",
        ),
        Refusal(
            "computed-name",
            "`{text}` may read this variable by its name",
            "neither the graph nor a checkpoint has a variable of that name with the rows of a table",
            "write the name as a literal, or convert with --assume",
            "a computed name never refers to one of the tables",
        ),
        Refusal(
            "lookup",
            "`{text}` reads this lookup by its name",
            "the operations of a table lookup have other names",
            "give the result a name of its own: `tf.identity(rows, name=...)`",
        ),
        Refusal(
            "computed-lookup",
            "`{text}` may read this lookup by its name",
            "the operations of a table lookup have other names",
            "write the name as a literal, or convert with --assume",
            "a computed name never refers to a lookup of one of the tables",
        ),
    )
    examples = (
        Example("fetched by name", HEAD + MADE + 'rows = sess.run("w:0")\n', says="by its name"),
        Example("another variable", HEAD + MADE + OTHER, HEAD + AFTER + OTHER),
        Example("a computed name", HEAD + MADE + COMPUTED, says="may read"),
        Example(
            "a computed name of a lookup",
            HEAD + MADE + "x = sess.run('embedding_%s:0' % kind)\n",
            says="may read this lookup",
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        """Block tables whose variables are read by name; `--assume` lifts the blocker of a computed name."""
        file = judgement.file
        reads = reads_by_name(file)
        for table in judgement.tables if reads else ():
            name = variable_name(file, table)
            for node, shown in reads:
                if file.tree.related(node, table.creation.call):
                    blocked = _of_variable(file, name, node, shown) or (
                        None if _reads(file, shown, OF_FILES) else _of_lookup(file, table, node, shown)
                    )
                    table.blockers += [blocked] if blocked is not None else []


def _of_variable(file: File, name: VariableName, node: cst.BaseExpression, shown: cst.BaseExpression) -> Blocker | None:
    text, written = file.tree.excerpt(shown), string(node)
    if written is not None:
        key = "its-name-in-file" if _reads(file, shown, OF_FILES - OF_OWN) else "its-name"
        return blocker(shown, ReadByName.id, key, text=text) if name.is_meant_by(written) else None
    fits = name.fits(pattern(file, node))
    return blocker(shown, ReadByName.id, "computed-name", text=text) if fits else None


def _reads(file: File, node: cst.BaseExpression, methods: set[str]) -> bool:
    """Whether a call reads a file, by a function or by one of these methods."""
    return isinstance(node, cst.Call) and (file.names.of(node.func) in FUNCTIONS or method_of(node) in methods)


def _of_lookup(file: File, table: Table, node: cst.BaseExpression, shown: cst.BaseExpression) -> Blocker | None:
    """Block a table when the result of a lookup is read by the name of an operation inside the lookup."""
    constant, text = string(node), file.tree.excerpt(shown)
    computed = pattern(file, node) if constant is None else ""
    for lookup in table.lookups:
        named = by_keyword(lookup.call, "name")
        own = named.value if named is not None else None
        last = (file.names.of(lookup.call.func) or "").rpartition(".")[2]
        label = DEFAULTS.get(last, re.escape(last)) if own is None else pattern(file, own)
        if constant is not None and re.fullmatch(rf"(.*/)?{label}(_\d+)?(/.*)?(:\d+)?", constant) is not None:
            return blocker(shown, ReadByName.id, "lookup", text=text)
        name = string(own) if own is not None else last
        if constant is None and name and any(re.fullmatch(computed, one) for one in _outputs_of(name)):
            return blocker(shown, ReadByName.id, "computed-lookup", text=text)
    return None


def _outputs_of(name: str) -> Iterator[str]:
    """Yield names that the result of a lookup may have in the original graph."""
    for start in ("", "scope/"):
        for number in ("", "_1"):
            yield from (f"{start}{name}{number}{end}" for end in (":0", "/Identity:0", "/Identity_1:0"))


_SLOTS = "|".join(sorted({name.rpartition(".")[2].removesuffix("Optimizer") for name in STOCK}))
#: Suffixes that TensorFlow appends to the name of a variable: those of its parts, its ops and its slots.
PARTS = (
    r"(/(part_\d+|read|Read/ReadVariableOp|Assign|initial_value|Initializer/\w+|IsInitialized/\w+"
    rf"|({_SLOTS})(_\d+)?|ExponentialMovingAverage))*(:\d+)?"
)


@dataclass(frozen=True)
class VariableName:
    """The last part of a name, and the scopes before it if they are known."""

    last: str
    scope: str | None  #: with a trailing slash; None if not known
    suffixed: bool = False  #: TensorFlow may append a number
    computed: bool = False  #: the name is not known

    def is_meant_by(self, text: str) -> bool:
        """True if `text` may name the variable, one of its slots, or an operation that belongs to it."""
        if self.computed:
            return True
        before = "(.*/)?" if self.scope is None else re.escape(self.scope)
        number = r"(_\d+)?" if self.suffixed else ""
        return re.fullmatch(before + re.escape(self.last) + number + PARTS, text) is not None

    def fits(self, pattern: str) -> bool:
        """True if a regular expression for computed names may match the variable or one of its outputs."""
        if self.computed:
            return True
        full = (self.scope or "") + self.last
        texts = [full, f"scope/{self.last}"] if self.scope is None else [full]
        ends = ("", ":0", "/read", "/read:0", "/Read/ReadVariableOp:0")
        return any(re.fullmatch(pattern, text + end) for text in texts for end in ends)


def variable_name(file: File, table: Table) -> VariableName:
    """Return the name of the variable that becomes a table."""
    creation = table.creation
    if creation.target_function:
        return VariableName("embedding_weights", None)
    if creation.naming.computed is not None:
        return VariableName("", None, computed=True)
    outer = prefix(file, creation.call)
    if creation.naming.unique or outer is None:
        return VariableName(creation.name or "Variable", None, creation.naming.unique)
    return VariableName(creation.name or "Variable", full_name(outer, ""))
