"""What is known of one dict or list of variables, and the answers: where a member is read, and what else is read there.

A dict or list that takes in the members of another one may have all of them at any time, and what is read of it may be
any of its own members or of those.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.containers import Key, Put, Read, is_dict, is_exact, may_be
from migrate.source.frontends.tensorflow.copied import Copy, is_dict_of
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.mentioned import Mentions
from migrate.source.frontends.tensorflow.walks import RULE, walked


class Members:
    """Everything that is put into one dict or list, read from it, or done with it as a whole."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.found = Mentions()
        self.puts: list[Put] = []
        self.reads: list[tuple[Read, cst.BaseExpression]] = []  #: with what reads it there
        self.whole: list[cst.BaseExpression] = []
        self.displays: list[cst.BaseExpression] = []
        self.copied: list[cst.BaseExpression] = []  #: expressions that make it of others, such as `list(W.values())`
        self.taken: list[Copy] = []  #: whose members it takes in
        self.given: list[Copy] = []  #: who takes in its members
        self.partitions: list[cst.BaseExpression] = []  #: lookups that read all members by turns
        self.uses: list[cst.BaseExpression] = []
        self.names: list[cst.BaseExpression] = []  #: that are bound to it

    def other(self, node: cst.BaseExpression) -> Members:
        """Return the dict or list that is made, or mentioned, at `node`."""
        raise NotImplementedError

    def members(self, key: Key, found: Mentions) -> list[Read]:
        """Return where the member of that key is read, and record in `found` what else may be read there."""
        result = []
        for one, own in self._with_copies(key):
            one._doubts(own, found)
            for read, node in one.reads:
                asked = one._walked(node, own) if read.bound else None
                if asked is not None:
                    found.stops.append(asked)
                elif may_be(own, read.key):
                    result.append(read)
                    same = [put for put in one.all_puts(found) if may_be(put.key, read.key)]
                    if len(same) > 1 or not (is_exact(own) and is_exact(read.key)):
                        found.passed += [put.value for put in same]
        return result

    def collections(self, key: Key, found: Mentions) -> tuple[list[Read], list[cst.BaseExpression]]:
        """Return where a member of that key is read that is a collection itself, and all that may be read there."""
        result: list[Read] = []
        values: list[cst.BaseExpression] = []
        for one, own in self._with_copies(key):
            one._doubts(own, found)
            reads = [read for read, _ in one.reads if may_be(own, read.key)]
            asked = (own, *(read.key for read in reads))
            values += [put.value for put in one.all_puts(found) if any(may_be(put.key, other) for other in asked)]
            result += reads
        return result, list({id(value): value for value in values}.values())

    def looked_up_whole(self, found: Mentions) -> list[cst.BaseExpression]:
        """Return where lookups read all members by turns, and record in `found` which these are."""
        nodes = []
        for one, _ in self._with_copies(None):
            if one.partitions:
                found.passed += [put.value for put in one.all_puts(found)]
                nodes += one.partitions
        return nodes

    def all_puts(self, found: Mentions) -> list[Put]:
        """Return what may be a member, of copies as well; `found` gets what is not known of these."""
        result = [*self.puts]
        for other, keeps in self._sources()[1:]:
            found.doubt(other.found.stops)
            result += [put if keeps else Put(put.value) for put in other.puts]
        return result

    def _sources(self) -> list[tuple[Members, bool]]:
        """Return this one and all whose members it takes in, each with whether they keep their keys."""
        seen: list[tuple[Members, bool]] = [(self, True)]
        for one, kept in seen:
            for copy in one.taken:
                other, keeps = one.other(copy.of), kept and copy.keeps
                if not any(other is known and (same is keeps or not same) for known, same in seen):
                    seen.append((other, keeps))
        return seen

    def _with_copies(self, key: Key) -> Iterator[tuple[Members, Key]]:
        """Yield this one and all that may have taken the member of that key in, with the key it has there."""
        seen: list[tuple[Members, Key]] = [(self, key)]
        for one, own in seen:
            yield one, own
            for copy in one.given:
                other, there = one.other(copy.made), own if copy.keeps else None
                if not any(other is known and (same is there or same is None) for known, same in seen):
                    seen.append((other, there))

    def _doubts(self, key: Key, found: Mentions) -> None:
        kept = [*self.whole, *(self.partitions if self.partitions and self._may_repeat(found) else ())]
        kind = "dict" if kept and self.is_dict else "list"
        found.doubt([*self.found.stops, *(self._kept(node, key, kind) for node in kept)])
        found.holders += self.uses

    def _may_repeat(self, found: Mentions) -> bool:
        """True when one variable may be several members, as far as the source shows."""
        sources = [one for one, _ in self._sources()]
        texts = [self.file.tree.source(put.value) for one in sources for put in one.puts]
        return len(set(texts)) < len(texts) or any(len(one.taken) > 1 for one in sources)

    def _walked(self, node: cst.BaseExpression, key: Key) -> Stop | None:
        """Return the doubt about a loop over a dict that only counts or prints its variables."""
        text = string(key) if isinstance(key, cst.BaseExpression) else None
        return walked(self.file, node, text) if text is not None and self.is_dict else None

    def _kept(self, node: cst.BaseExpression, key: Key, kind: str) -> Stop:
        text = string(key) if isinstance(key, cst.BaseExpression) else None
        shown_text = " ".join(self.file.tree.source(self.file.tree.statement(node) or node).split())
        shown_text = shown_text if len(shown_text) <= 60 else shown_text[:57] + "..."
        held = f"`{text}`" if text is not None else "the table"
        message = f"the {kind} that holds {held} is used as a whole: `{shown_text}`"
        return Stop(
            node, RULE, message, "what this does with the table is not followed", f"keep the table outside this {kind}"
        )

    @property
    def is_dict(self) -> bool:
        """True for a dict, as far as what makes it is seen."""
        return any(is_dict(one) for one in self.displays) or any(is_dict_of(self.file, one) for one in self.copied)

    @property
    def name(self) -> str:
        """How the source calls it, where it first gets a name; empty where it has none."""
        return self.file.tree.source(self.names[0]) if self.names else ""
