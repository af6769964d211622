"""`--unbucket`: which tables give up the buckets of their ids, what changes for that, and why others keep them.

The code that hashes or divides ids gets a number of buckets so wide that ids are apart, and the table is told how many
there were. That is right only where nothing but lookups of such tables reads the buckets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.rules import refusal
from migrate.source.tensorflow.base.known_shapes import is_int64
from migrate.source.tensorflow.base.model import KEPT, Adaptation, Blocker, GivenUp, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import makers
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.ids.bounds import Bound, Bounds, bounds_of
from migrate.source.tensorflow.facts.ids.bucket_readers import readers
from migrate.source.tensorflow.facts.ids.layouts import (
    base_argument,
    is_other_number,
    is_same_number,
    is_symbolic,
    names_kept,
    reader_by_name,
    size_text,
    widened,
)
from migrate.source.tensorflow.facts.ids.vocabularies import count_text
from migrate.source.tensorflow.facts.variables.column_names import IDENTITY, WEIGHTED, categories_of, read_category

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
    #: what hands the ids of each bound on to lookups
    chains: list[Sequence[cst.BaseExpression]] = field(default_factory=list)
    given_up: GivenUp = KEPT

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
        table.creation.given_up = candidate.given_up
        table.assumed += candidate.freed


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
        pairs = zip(candidate.bounds.sources, candidate.chains, strict=True)
        candidate.freed = [_freed(file, candidate, bound, chain) for bound, chain in pairs]


def _check_origins(file: File, candidate: Candidate) -> None:
    """Let a candidate keep its buckets whose ids are not all divided into as many as it has rows."""
    if candidate.bounds.unknown or not candidate.bounds.sources:
        candidate.keep("unknown-origin" if candidate.bounds.unknown else "no-buckets")
        return
    if candidate.bounds.free:
        candidate.keep("no-buckets")
        return
    for bound in candidate.bounds.sources:
        _check_origin(file, candidate, bound)


def _check_origin(file: File, candidate: Candidate, bound: Bound) -> None:
    """Let a candidate keep its buckets if one origin of its ids cannot give it wide ids; note what it is made with."""
    rows, words, operand = candidate.rows, bound.words, bound.operand
    if bound.size is None:
        kept = "identity" if read_category(file, bound.node)[0] == IDENTITY else "no-division"
        candidate.keep(kept if words is None else "no-others", bound=bound.text)
        return
    size = size_text(file, bound)
    argument = size if rows is None else base_argument(file, bound, rows)
    before = candidate.given_up.argument
    if words is not None and words.layer is None and not count_text(file, words, bound.size):
        candidate.keep("unknown-words", bound=bound.text)
    elif rows is not None and (not argument or before not in ("", argument)):
        candidate.keep("other-number", size=size, rows=file.tree.one_line(rows))
    elif operand is not None and not file.part(bound.node).names.v1_prefix:
        candidate.keep("no-tensorflow", bound=bound.text)
    elif operand is not None and is_other_number(file, operand):
        candidate.keep("other-numbers", text=file.tree.one_line(operand))
    elif operand is not None and is_symbolic(file, operand) and not is_int64(file, operand):
        candidate.keep("narrow-input", text=file.tree.one_line(operand))
    number = argument if words is None else size
    known = [one for one in candidate.given_up.number.split(" or ") if one]
    candidate.given_up = GivenUp(" or ".join(dict.fromkeys([*known, number])), argument)


def _is_kept_by_readers(file: File, candidate: Candidate, left: Sequence[Candidate]) -> bool:
    """Let a candidate keep its buckets if other code reads them, and return whether it does."""
    ids = {id(node) for other in left if _alike(file, candidate, other) for node in other.ids}
    candidate.chains.clear()
    for bound in candidate.bounds.sources:
        chain, reader = readers(file, bound.node, ids)
        candidate.chains.append(chain)
        reader = reader or reader_by_name(file, bound, chain, candidate.given_up.argument)
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


def _freed(file: File, candidate: Candidate, bound: Bound, chain: Sequence[cst.BaseExpression]) -> Blocker:
    """Return the change of code that divides ids, as an assumption that the user has made."""
    named = names_kept(file, bound, chain, candidate.given_up.argument)
    changes, operand = (*widened(file, bound, candidate.rows), *named), bound.operand
    if operand is not None and not is_int64(file, operand):
        whole, text = file.tree.one_line(operand), file.tree.excerpt(bound.node)
        return blocker(bound.node, RULE, "freed-cast", text=text, bound=bound.text, operand=whole, changes=changes)
    return blocker(bound.node, RULE, "freed", text=file.tree.excerpt(bound.node), bound=bound.text, changes=changes)
