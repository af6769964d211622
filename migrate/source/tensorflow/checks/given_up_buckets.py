"""`--unbucket`: which tables give up the buckets of their ids, what changes for that, and why others keep them.

The code that hashes or divides ids gets a number of buckets so wide that ids are apart, and the table is told how many
there were. That is right only where nothing but lookups of such tables reads the buckets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.flow import Constant
from migrate.source.rules import refusal
from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.bindings import binders
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.known_shapes import is_int64, known_number
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Table
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbols_of
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.ids.bounds import Bound, Bounds, bounds_of
from migrate.source.tensorflow.facts.ids.bucket_readers import other_reader
from migrate.source.tensorflow.facts.variables.column_names import WEIGHTED, categories_of, read_category

RULE = "tf-unbucket"
#: The value of `--unbucket` that stands for all tables.
ALL = "all"
#: Lookups that read rows by ids alone.
_PLAIN = {"sparse_lookup", "embedding_lookup_sparse", "safe_embedding_lookup_sparse"}


@dataclass
class Candidate:
    """A table, or a layer, whose ids are to give up their buckets."""

    node: cst.BaseExpression  #: the call that makes it
    rows: cst.BaseExpression | None  #: None for a column, whose rows are those of its category
    bounds: Bounds
    ids: Sequence[cst.BaseExpression]  #: the ids of its lookups; of a column, the categories that it takes
    kept: str = ""  #: the key of the refusal, if it keeps its buckets
    words: Mapping[str, str] = field(default_factory=dict)
    freed: list[Blocker] = field(default_factory=list)  #: what changes for that, if it does not

    def keep(self, key: str, **words: str) -> None:
        """Let it keep its buckets."""
        self.kept, self.words = key, words


def give_up_buckets(judgement: Judgement) -> None:
    """Let the tables that `--unbucket` names give up the buckets of their ids; say why where they cannot."""
    file = judgement.file
    wanted = [table for table in judgement.moving if {ALL, table.final_name, table.known_as} & {*file.unbucket}]
    candidates = [(table, _candidate(file, table)) for table in wanted]
    settle(file, [candidate for _, candidate in candidates])
    for table, candidate in candidates:
        if candidate.kept:
            table.adaptations.append(note(candidate, table.label))
            continue
        table.creation.base_buckets = table.creation.rows_text or sizes(file, candidate)
        table.assumed += candidate.freed


def sizes(file: File, candidate: Candidate) -> str:
    """Return the numbers of buckets of a column's categories, for a report."""
    sizes = (file.tree.one_line(bound.size) for bound in candidate.bounds.sources if bound.size is not None)
    return " or ".join(dict.fromkeys(sizes))


def note(candidate: Candidate, label: str) -> Adaptation:
    """Return the note that a table keeps its buckets."""
    row = refusal(RULE, candidate.kept).filled({"label": label, **candidate.words})
    return Adaptation(candidate.node, RULE, row.message, row.reason, action=row.action)


def _candidate(file: File, table: Table) -> Candidate:
    creation, bounds = table.creation, bounds_of(file, table)
    if creation.target_function:
        candidate = Candidate(creation.call, None, bounds, given_categories(file, creation.call))
    else:
        ids = [lookup.ids.value for lookup in table.lookups if lookup.ids is not None]
        candidate = Candidate(creation.call, creation.rows, bounds, ids)
    uses: list[Adaptation | Blocker] = [*table.adaptations, *table.assumed]
    changed = [use for use in uses if use.changes]
    if creation.first_rows:
        candidate.keep("rows-given")
    elif (other := next((lookup for lookup in table.lookups if lookup.function not in _PLAIN), None)) is not None:
        candidate.keep("other-use", text=file.tree.excerpt(other.call))
    elif creation.regularizer or changed:
        candidate.keep("other-use", text=creation.regularizer or file.tree.excerpt(changed[0].node))
    return candidate


def given_categories(file: File, column: cst.Call) -> list[cst.BaseExpression]:
    """Return the expressions that an embedding column takes as its categories, those that are weighted included."""
    nodes = categories_of(file, column)
    for node in nodes:
        below = (given for kind, given in (read_category(file, one) for one in makers(file, node)) if kind == WEIGHTED)
        nodes += [given["categorical_column"].value for given in below if "categorical_column" in given]
    return nodes


def settle(file: File, candidates: Sequence[Candidate]) -> None:
    """Decide which candidates give up their buckets: those whose buckets nobody reads but such candidates."""
    for candidate in candidates:
        if not candidate.kept:
            _check_origins(file, candidate)
    again = True
    while again:
        left = [candidate for candidate in candidates if not candidate.kept]
        again = sum(_is_kept_by_readers(file, candidate, left) for candidate in left) > 0
    for candidate in (candidate for candidate in candidates if not candidate.kept):
        candidate.freed = [_freed(file, bound) for bound in candidate.bounds.sources]


def _check_origins(file: File, candidate: Candidate) -> None:
    """Let a candidate keep its buckets whose ids are not all divided into as many as it has rows."""
    if candidate.bounds.unknown or not candidate.bounds.sources:
        candidate.keep("unknown-origin" if candidate.bounds.unknown else "no-buckets")
        return
    if candidate.bounds.free:
        candidate.keep("no-buckets")
        return
    rows = candidate.rows
    for bound in candidate.bounds.sources:
        if bound.size is None:
            candidate.keep("no-division", bound=bound.text)
        elif rows is not None and not (is_same_number(file, bound.size, rows) and is_repeatable(rows)):
            candidate.keep("other-number", size=file.tree.one_line(bound.size), rows=file.tree.one_line(rows))
        elif bound.operand is not None and not file.part(bound.node).names.v1_prefix:
            candidate.keep("no-tensorflow", bound=bound.text)
        elif bound.operand is not None and _is_symbolic(file, bound.operand) and not is_int64(file, bound.operand):
            candidate.keep("narrow-input", text=file.tree.one_line(bound.operand))


def _is_kept_by_readers(file: File, candidate: Candidate, left: Sequence[Candidate]) -> bool:
    """Let a candidate keep its buckets if other code reads them, and return whether it does."""
    ids = {id(node) for other in left if _alike(file, candidate, other) for node in other.ids}
    for bound in candidate.bounds.sources:
        reader = other_reader(file, bound.node, ids)
        if reader is not None:
            location, tree = file.tree.location(reader.node), file.tree
            candidate.keep(
                reader.key,
                buckets=tree.excerpt(bound.node),
                reader=tree.excerpt(reader.node),
                place=f"{location.path}:{location.line}",
            )
            return True
    return False


def _alike(file: File, candidate: Candidate, other: Candidate) -> bool:
    """True for candidates with as many buckets."""
    if candidate is other or candidate.rows is None or other.rows is None:
        return candidate is other or candidate.rows is other.rows
    return is_same_number(file, candidate.rows, other.rows)


def is_same_number(file: File, first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
    """True if two sizes are surely the same number."""
    known = number(known_number(file, first)), number(known_number(file, second))
    if None not in known:
        return known[0] == known[1]
    if file.tree.source(first) != file.tree.source(second) or not is_repeatable(first):
        return False
    bound = [binders(file.part(node).tree, node) for node in (first, second)]
    if isinstance(first, cst.Name):
        return bound[0] == bound[1] and len(bound[0]) == 1
    return not any(isinstance(value, Constant) for value in flow_of(file).values(first))


def _freed(file: File, bound: Bound) -> Blocker:
    """Return the change of code that divides ids, as an assumption that the user has made."""
    assert bound.size is not None
    operand = bound.operand
    text = _plainly_widened if operand is not None and _is_symbolic(file, operand) else _widened
    changes = [CodeChange(bound.size, text, takes=bound.size, early=True)]
    if operand is not None and not is_int64(file, operand):
        tf = file.part(operand).names.v1_prefix.split(".compat")[0]
        wide = CodeChange(operand, lambda _, items: f"{tf}.cast({items[0]}, {tf}.int64)", takes=operand, early=True)
        changes.append(wide)
    excerpt = file.tree.excerpt(bound.node)
    return blocker(bound.node, RULE, "freed", text=excerpt, bound=bound.text, changes=tuple(changes))


def _widened(fresh: Fresh, items: Sequence[str]) -> str:
    return f"{fresh.imports('wide_buckets')}({items[0]})"


def _plainly_widened(fresh: Fresh, items: Sequence[str]) -> str:
    """Return the same for operators of Keras 3, which take no class of integers but Python's own."""
    return f"int({_widened(fresh, items)})"


def _is_symbolic(file: File, node: cst.BaseExpression) -> bool:
    """True for an input of a model of Keras 3, which functions of TensorFlow do not take."""
    return bool(symbols_of(flow_of(file).values(node)) & {"keras.Input", "keras.layers.Input"})
