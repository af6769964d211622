"""The categories below embedding columns, for a target whose tables are made by the category: DeepRec.

There a category has no range: integers are keys as they are, texts by a hash of 63 bits, and each has a row of its own.
What its ids were before decides whether the model is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Category, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.references.table_values import table_values
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS, RULE, categories
from migrate.targets.base import CONSTANT

#: Category -> its parameters as far as their order is the same in both versions.
IDENTITY, HASHED = "categorical_column_with_identity", "categorical_column_with_hash_bucket"
LISTED, FILED = "categorical_column_with_vocabulary_list", "categorical_column_with_vocabulary_file"
KINDS = {
    IDENTITY: ("key", "num_buckets", "default_value"),
    HASHED: ("key", "hash_bucket_size", "dtype"),
    LISTED: ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    FILED: ("key", "vocabulary_file", "vocabulary_size"),
}
VOCABULARIES = ("vocabulary_list", "vocabulary_file")
BY_NAME = ("dtype", "default_value", "num_oov_buckets", "file_format")
WEIGHTED, WEIGHTS = "weighted_categorical_column", ("categorical_column", "weight_feature_key", "dtype")
PARSED = ("FixedLenFeature", "VarLenFeature", "FixedLenSequenceFeature")


@dataclass(frozen=True)
class _Reader:
    """Reads the categories of one embedding column."""

    file: File
    table: Table
    shared: bool  #: the table is that of several columns
    vocabularies: list[str] = field(default_factory=list)

    def read(self, node: cst.BaseExpression) -> None:
        """Add the category that `node` is, or why it cannot be made anew."""
        made = resolve(self.file.tree, node)
        name = _name(self.file, made)
        given = bind(made, WEIGHTS) if name == WEIGHTED and isinstance(made, cst.Call) else None
        if given is not None and "categorical_column" in given:
            inner = given["categorical_column"].value
            if self.shared or _name(self.file, resolve(self.file.tree, inner)).startswith("sequence_"):
                what = "that columns share" if self.shared else "of sequences"
                self._blocker(
                    made, "a weighted category", f"{self._title} has none {what}", "leave the column as it is"
                )
                return
            self.read(inner)
            return
        kind = name.removeprefix("sequence_")
        text = " ".join(self.file.tree.source(node).split())
        if not isinstance(made, cst.Call) or not name:
            reason = f"{self._title} makes its table by the category, and where this one is made is not seen"
            self._blocker(
                node, f"`{text}` is the category of this column", reason, "make it in this file, bound to a name"
            )
        elif self.shared and name != kind:
            reason = f"{self._title} shares no table over sequences"
            self._blocker(node, f"`{text}` is the category of these columns", reason, "leave the columns as they are")
        elif kind not in KINDS:
            reason = f"{self._title} has no embedding column over a `{kind}`: the rows of that one cannot grow"
            self._blocker(node, f"`{text}` is the category of this column", reason, "leave the column as it is")
        else:
            self._known(made, kind, name != kind)

    @property
    def _title(self) -> str:
        return self.file.target.title

    def _blocker(self, node: cst.CSTNode, message: str, reason: str, action: str = "", assumption: str = "") -> None:
        self.table.blockers.append(Blocker(node, RULE, message, reason, action, assumption))

    def _changes(self, node: cst.CSTNode, message: str, reason: str) -> None:
        action, changes = "convert with --assume if that will do", Applicability.CHANGES_VALUES
        self.table.blockers.append(Blocker(node, RULE, message, reason, action, reason, applicability=changes))

    def _known(self, call: cst.Call, kind: str, sequence: bool) -> None:
        given = bind(call, (*KINDS[kind], *(name for name in BY_NAME if name not in KINDS[kind])))
        positional = sum(arg.keyword is None for arg in call.args)
        if given is None or "key" not in given or positional > len(KINDS[kind]):
            self._blocker(call, "the arguments of this category cannot be read", "", "pass them by their names")
            return
        dtype = self._dtype(kind, given)
        if dtype is None:
            reason = "whether its values are of int64 or texts is not seen"
            self._blocker(call, "the type of this category", reason, "give it dtype=tf.int64 or tf.string")
            return
        source = self.file.tree.source
        self.vocabularies.extend(source(given[name].value) for name in given if name in VOCABULARIES)
        rows = given.get("num_buckets") or given.get("hash_bucket_size")
        category = Category(call, source(given["key"].value), dtype, source(rows.value) if rows else "", sequence)
        self.table.categories.append(category)
        message = f"`{kind}` becomes a category with a row for every {'id' if dtype == 'int64' else 'text'}"
        self.table.adaptations.append(Adaptation(call, RULE, message))
        self._check_uses(call)
        self._check_ids(category, kind, given)

    def _dtype(self, kind: str, given: Mapping[str, cst.Arg]) -> str | None:
        """Return the type of the feature: `int64`, `string`, or None where it is another one or not seen."""
        arg = given.get("dtype")
        if kind == IDENTITY:
            return "int64"
        if arg is not None and not is_none(arg):
            name = self.file.names.of(arg.value) or literal(arg.value)
            return name if isinstance(name, str) and name in {"int64", "string"} else None
        if kind != LISTED or "vocabulary_list" not in given:
            return "string"
        values = literal(resolve(self.file.tree, given["vocabulary_list"].value))
        kinds = {type(value) for value in values} if isinstance(values, list | tuple) else set()
        return "string" if kinds == {str} else "int64" if kinds == {int} else None

    def _check_ids(self, category: Category, kind: str, given: Mapping[str, cst.Arg]) -> None:
        """Add what must hold for the rows to be those that were read before."""
        key, call, action = category.key, category.call, "convert with --assume if that holds"
        if category.dtype == "int64" and not _is_parsed(self.file, given["key"].value):
            reason = f"{self._title} takes the ids as they are, and those of another integer type fail"
            self._blocker(call, f"the feature {key} must be of int64", reason, action, f"the feature {key} is of int64")
        if kind == IDENTITY:
            if not is_none(given.get("default_value")):
                reason = "an id outside of the range read the row of `default_value`, and gets a row of its own"
                told = f"every id of {key} lies in [0, {category.rows})"
                self._blocker(call, f"ids of {key} have a default", reason, action, told)
            return
        if category.dtype == "int64":
            reason = "a negative value had a row, and reads zeros"
            self._blocker(call, f"the values of {key} become ids", reason, action, f"no value of {key} is negative")
        if kind == HASHED:
            reason = f"values of {key} that shared one of the {category.rows} buckets get rows of their own"
            self._changes(call, f"the values of {key} are no longer hashed into buckets", reason)
            return
        reason = "a value that is not in the vocabulary had no row or a shared one, and gets one of its own"
        told = f"every value of {key} is in its vocabulary"
        self._blocker(call, f"{key} is no longer looked up in a vocabulary", reason, action, told)
        if not self.table.creation.begins_alike:
            reason = f"rows of {key} begin with other random numbers of the same law"
            self._changes(call, f"the rows of {key} are in another order", reason)

    def _check_uses(self, call: cst.Call) -> None:
        """Stop where something besides embedding columns reads what `call` makes."""
        for use in self._uses(call):
            if not self._is_column(use):
                line = " ".join(self.file.tree.source(self.file.tree.statement(use) or use).split())
                reason = f"`{line if len(line) <= 80 else line[:77] + '...'}` needs the range of its ids"
                message = f"`{self.file.tree.source(use)}` is read by more than embedding columns"
                self._blocker(use, message, reason, "make a category of its own for that")

    def _uses(self, call: cst.Call) -> list[cst.BaseExpression]:
        """Return where what `call` makes is read: by its name, or in its own place."""
        known = table_values(self.file, call)
        self.table.blockers += known.blockers
        return known.reads

    def _is_column(self, use: cst.BaseExpression) -> bool:
        """True for a category in the arguments of an embedding column, alone or in a list, also when it is weighted."""
        around = self.file.tree.parent(use)
        if isinstance(around, cst.Element):
            listed = self.file.tree.parent(around)
            around = self.file.tree.parent(listed) if isinstance(listed, cst.List | cst.Tuple) else None
        call = self.file.tree.parent(around) if isinstance(around, cst.Arg) else None
        if not isinstance(call, cst.Call):
            return False
        if _name(self.file, call) == WEIGHTED:
            return all(self._is_column(one) for one in self._uses(call))
        return self.file.names.of(call.func) in COLUMNS


def check_categories(file: File, table: Table) -> None:
    """Read the categories of an embedding column, and stop it where the target cannot make one of them."""
    parameters, _ = COLUMNS.get(file.names.of(table.creation.call.func) or "", ((), ""))
    given = bind(table.creation.call, parameters) if parameters else None
    own = any(blocker.state is State.NOTED for blocker in table.blockers)
    if file.target.category is None or given is None or own:
        return
    for name in file.target.column_lacks:
        if name in given:
            reason = f"{file.target.title}'s embedding column has no such argument"
            table.blockers.append(Blocker(given[name], RULE, f"`{name}` is given", reason, "leave it out"))
    initializer = given.get("initializer")
    text = "" if initializer is None else file.tree.source(resolve(file.tree, initializer.value))
    table.creation.begins_alike = CONSTANT.search(text) is not None
    found = categories(given)
    reader = _Reader(file, table, shared="categorical_columns" in given)
    if found is None:
        reason = f"{file.target.title} makes its table by each category, and the list is not written here"
        table.blockers.append(
            Blocker(table.creation.call, RULE, "the categories of these columns", reason, "write it here")
        )
    for node in found or ():
        reader.read(node)
    if len({" ".join(text.split()) for text in reader.vocabularies}) > 1:
        reason = "values of two vocabularies shared a row by their places, and each gets a row of its own"
        table.blockers.append(
            Blocker(
                table.creation.call,
                RULE,
                "the vocabularies of these columns differ",
                reason,
                "make the columns that share a table of one vocabulary",
            )
        )


def check_shared_categories(judgement: Judgement) -> None:
    """Columns over one category move together: it is made once."""
    changed = any(table.categories for table in judgement.tables)
    while changed:
        changed = False
        moving = {id(table) for table in judgement.moving}
        stuck = {id(c.call): t for t in judgement.tables if id(t) not in moving for c in t.categories}
        for table in judgement.moving:
            other = next((stuck[id(c.call)] for c in table.categories if id(c.call) in stuck), None)
            if other is not None:
                reason = f"`{other.label}` is over the same category and stays as it is"
                blocker = Blocker(
                    table.creation.call, RULE, "this column shares its category", reason, "give each its own"
                )
                table.blockers.append(blocker)
                changed = True


def _name(file: File, node: cst.BaseExpression) -> str:
    """Return the function of TensorFlow's feature columns that a call is of; nothing for anything else."""
    name = file.names.of(node.func) if isinstance(node, cst.Call) else None
    head, _, last = (name or "").rpartition(".")
    return last if head.endswith("feature_column") else ""


def _is_parsed(file: File, key: cst.BaseExpression) -> bool:
    """True when the program parses the feature from examples, as int64."""
    calls = [name for part in file.program(key) for _, name in part.names.calls]
    if any(name.endswith("make_parse_example_spec") for name in calls):
        return True
    wanted = string(resolve(file.tree, key))
    for text in file.tree.strings if wanted is not None else ():
        entry = file.tree.parent(text)
        if string(text) != wanted or not isinstance(entry, cst.DictElement) or entry.key is not text:
            continue
        made = entry.value
        if isinstance(made, cst.Call) and (file.names.of(made.func) or "").endswith(PARSED):
            return any(file.names.of(arg.value) == "int64" for arg in made.args)
    return False
