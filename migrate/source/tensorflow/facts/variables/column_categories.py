"""Categorical columns of embedding columns, for targets whose categorical column creates the table: DeepRec.

There a category has no range of ids: integers are used as keys directly, strings as 63-bit hashes, and each key has a
row of its own. Whether the converted model is the same depends on how the original category computed its ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import State
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, string
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Category, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.references.table_values import table_values
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS, RULE, categories
from migrate.targets.base import CONSTANT

#: Categories with those parameters that have the same position in both versions.
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
    """Reads the categorical columns of one embedding column."""

    file: File
    table: Table
    shared: bool  #: several columns share the table
    vocabularies: list[str] = field(default_factory=list)

    def read(self, node: cst.BaseExpression) -> None:
        """Add the category that `node` denotes, or a blocker if it cannot be recreated."""
        made, title = resolve(self.file.tree, node), self.file.target.title
        name = _name(self.file, made)
        given = bind(made, WEIGHTS) if name == WEIGHTED and isinstance(made, cst.Call) else None
        if given is not None and "categorical_column" in given:
            inner = given["categorical_column"].value
            if self.shared or _name(self.file, resolve(self.file.tree, inner)).startswith("sequence_"):
                what = "that columns share" if self.shared else "of sequences"
                self._add(blocker(made, RULE, "weighted", title=title, what=what))
                return
            self.read(inner)
            return
        kind = name.removeprefix("sequence_")
        text = self.file.tree.one_line(node)
        if not isinstance(made, cst.Call) or not name:
            self._add(blocker(node, RULE, "unseen-category", text=text, title=title))
        elif self.shared and name != kind:
            self._add(blocker(node, RULE, "shared-sequences", text=text, title=title))
        elif kind not in KINDS:
            self._add(blocker(node, RULE, "other-category", text=text, title=title, kind=kind))
        else:
            self._known(made, kind, name != kind)

    def _add(self, *blockers: Blocker) -> None:
        self.table.blockers += blockers

    def _known(self, call: cst.Call, kind: str, sequence: bool) -> None:
        """Read a category of a supported kind: its arguments, type, number of ids and conditions."""
        given = bind(call, (*KINDS[kind], *(name for name in BY_NAME if name not in KINDS[kind])))
        positional = sum(arg.keyword is None for arg in call.args)
        if given is None or "key" not in given or positional > len(KINDS[kind]):
            self._add(blocker(call, RULE, "unread-arguments"))
            return
        dtype = self._dtype(kind, given)
        if dtype is None:
            self._add(blocker(call, RULE, "unseen-type"))
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
        """Return the type of the feature: `int64` or `string`; None if it is another one or unknown."""
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
        """Add blockers for the conditions under which lookups read the same rows as before."""
        key, call, rows = category.key, category.call, category.rows
        if category.dtype == "int64" and not _is_parsed(self.file, given["key"].value):
            self._add(blocker(call, RULE, "other-integers", feature=key, title=self.file.target.title))
        if kind == IDENTITY:
            if not is_none(given.get("default_value")):
                self._add(blocker(call, RULE, "default-id", feature=key, rows=rows))
            return
        if category.dtype == "int64":
            self._add(blocker(call, RULE, "negative-values", feature=key))
        if kind == HASHED:
            self._add(blocker(call, RULE, "unhashed", feature=key, rows=rows))
            return
        self._add(blocker(call, RULE, "no-vocabulary", feature=key))
        if not self.table.creation.constant_rows:
            self._add(blocker(call, RULE, "other-order", feature=key))

    def _check_uses(self, call: cst.Call) -> None:
        """Block the table if code other than embedding columns reads the category that `call` creates."""
        for use in self._uses(call):
            if not self._is_column(use):
                line = self.file.tree.excerpt(self.file.tree.statement(use) or use)
                self._add(blocker(use, RULE, "read-otherwise", text=self.file.tree.source(use), line=line))

    def _uses(self, call: cst.Call) -> list[cst.BaseExpression]:
        """Return where the result of `call` is read: by name, or in place."""
        known = table_values(self.file, call)
        self._add(*known.blockers)
        return known.reads

    def _is_column(self, use: cst.BaseExpression) -> bool:
        """True for a category as an argument of an embedding column, alone, in a list, or weighted."""
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
    """Read the categories of an embedding column; block it if the target cannot recreate one of them."""
    parameters, _ = COLUMNS.get(file.names.of(table.creation.call.func) or "", ((), ""))
    given = bind(table.creation.call, parameters) if parameters else None
    own = any(one.state is State.NOTED for one in table.blockers)
    if file.target.category is None or given is None or own:
        return
    for name in file.target.column_lacks:
        if name in given:
            table.blockers.append(blocker(given[name], RULE, "lacking-argument", name=name, title=file.target.title))
    initializer = given.get("initializer")
    text = "" if initializer is None else file.tree.source(resolve(file.tree, initializer.value))
    table.creation.constant_rows = CONSTANT.search(text) is not None
    found = categories(given)
    reader = _Reader(file, table, shared="categorical_columns" in given)
    if found is None:
        table.blockers.append(blocker(table.creation.call, RULE, "unseen-list", title=file.target.title))
    for node in found or ():
        reader.read(node)
    if len({" ".join(text.split()) for text in reader.vocabularies}) > 1:
        table.blockers.append(blocker(table.creation.call, RULE, "two-vocabularies"))


def _name(file: File, node: cst.BaseExpression) -> str:
    """Return the name of the feature column function that a call runs; empty for anything else."""
    name = file.names.of(node.func) if isinstance(node, cst.Call) else None
    head, _, last = (name or "").rpartition(".")
    return last if head.endswith("feature_column") else ""


def _is_parsed(file: File, key: cst.BaseExpression) -> bool:
    """True if the program parses the feature as int64 from examples."""
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
