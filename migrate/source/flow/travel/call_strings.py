"""Where a value goes from one expression on, with calls told apart: it returns to the call through which it came.

Forward reachability over the constraint graph with call strings. A string is the calls through which the value came
into the function that runs; it returns to the last of them alone. What is stored in an attribute, a global name or a
container, or read by another function, may be found in any call: its string is empty. The longest strings lose their
first calls, so recursion ends; what returns from an empty string returns to all calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import libcst as cst

from migrate.source.flow.graph import Crossing, Variable
from migrate.source.flow.names.frames import Frame, frame_of
from migrate.source.flow.program import Program
from migrate.source.flow.values import Holder, Value

#: The calls through which a value came into the function that runs, the last one last.
CallString = tuple[cst.CSTNode, ...]
#: The string of what may have come through any call.
ANY_CALL: CallString = ()
#: The longest string.
MOST_CALLS = 4


class Spot(NamedTuple):
    """An expression, in those executions of its function that the call string describes."""

    node: cst.BaseExpression
    calls: CallString = ANY_CALL


@dataclass
class Spread:
    """Where a value goes: the expressions that have it, and the holders that it is put into."""

    spots: dict[Spot, None] = field(default_factory=dict)
    holders: dict[tuple[Holder, CallString], None] = field(default_factory=dict)
    #: True if it stays in the function, and in the execution, in which it was made
    stays: bool = True


class CallStrings:
    """Answers questions about one solved program."""

    def __init__(self, program: Program) -> None:
        """Take the state of the analysis, which must not change any more."""
        self._program, self._graph = program, program.graph
        self._frames: dict[int, Frame] = {}  # keyed by `id`; the program keeps the nodes
        self._results = {program.named(("return", node)): cast(Frame, node) for node in program.entered}
        self._fields = {one: holder for holder, _, one in program.fields.all() if isinstance(holder, Holder)}
        self._known: dict[Spot, Spread] = {}

    def made_at(self, spot: Spot, values: Iterable[Value]) -> Spread:
        """Return where what the expression computes goes; `values` are those that are made there."""
        if spot not in self._known:
            first = self._program.known(spot.node)
            starts = dict.fromkeys([(first, spot.calls)] if first is not None else [])
            others = [one for value in values for one in self._placed(value) if one is not first]
            starts.update(dict.fromkeys((one, ANY_CALL) for one in others))
            self._known[spot] = self._spread(starts, self._frame(spot.node), spot.calls)
        return self._known[spot]

    def part_of(self, part: Value, spot: Spot, whole: Spread) -> Spread:
        """Return where an entry or an attribute of what `spot` computes goes; `whole` is where that goes itself."""
        frame = self._frame(spot.node)
        calls = {one: spot.calls if whole.stays and self._owner(one) is frame else () for one in self._placed(part)}
        return self._spread(dict.fromkeys(calls.items()), frame, spot.calls)

    def held_by(self, holder: Holder, calls: CallString) -> Spread:
        """Return where a holder goes; `calls` are those of its display, if the value is put in there alone."""
        node = holder.node
        if calls and isinstance(node, cst.BaseExpression):
            return self.made_at(Spot(node, calls), [holder])
        return self._spread({(one, ANY_CALL): None for one in self._placed(holder)}, None, ANY_CALL)

    def _placed(self, value: Value) -> Iterable[Variable]:
        return self._graph.placed.get(value, ())

    def _spread(
        self, starts: dict[tuple[Variable, CallString], None], frame: Frame | None, calls: CallString
    ) -> Spread:
        """Follow all edges from the variables on."""
        found, seen, pending = Spread(), dict(starts), list(starts)
        for variable, _ in starts:
            self._hold(found, variable, ANY_CALL)
        for variable, string in pending:
            found.stays = found.stays and string == calls and frame is not None and self._owner(variable) is frame
            node = variable.node
            if node is not None and self._program.known(node) is variable:
                found.spots[Spot(cast(cst.BaseExpression, node), string)] = None
            for target, new in self._next(variable, string):
                if target in self._fields:
                    self._hold(found, target, string if self._is_display(variable, target) else ANY_CALL)
                if (target, new) not in seen and (target, ANY_CALL) not in seen:
                    seen[target, new] = None
                    pending.append((target, new))
        return found

    def _hold(self, found: Spread, variable: Variable, calls: CallString) -> None:
        """Note the holder that a variable is a field of."""
        holder = self._fields.get(variable)
        if holder is not None and holder.kind != "module":
            found.holders[holder, calls] = None

    def _is_display(self, entry: Variable, target: Variable) -> bool:
        """True for an entry that is written in the list, tuple or dict that is made there: `[x, y]`."""
        if not isinstance(entry.node, cst.BaseExpression) or self._program.known(entry.node) is not entry:
            return False
        tree = self._program.home(entry.node)
        element = tree.parent(entry.node)
        if not isinstance(element, cst.Element | cst.DictElement):
            return False
        return tree.parent(element) is self._fields[target].node

    def _next(self, variable: Variable, calls: CallString) -> Iterator[tuple[Variable, CallString]]:
        """Yield the variables that an edge leads to, with the call strings there."""
        for target, crossings in variable.receivers.items():
            for crossing in crossings:
                if crossing is None:
                    yield target, self._stayed(variable, calls, target)
                elif crossing.enters:
                    yield target, self._entered(variable, calls, crossing)
                elif not calls:
                    yield target, ANY_CALL
                elif calls[-1] is crossing.site:
                    yield target, calls[:-1] if target.node is crossing.site else ANY_CALL
        for target in self._graph.filtered.get(variable, ()):
            yield target, self._stayed(variable, calls, target)

    def _stayed(self, variable: Variable, calls: CallString, target: Variable) -> CallString:
        """Return the string behind a plain edge: the same in the same function."""
        owner = self._owner(variable) if calls else None
        return calls if owner is not None and self._owner(target) is owner else ANY_CALL

    def _entered(self, variable: Variable, calls: CallString, crossing: Crossing) -> CallString:
        """Return the string in a function that is given an argument."""
        if crossing.site is None:
            return ANY_CALL
        before = calls if self._owner(variable) is self._frame(crossing.site) else ANY_CALL
        return (*before, crossing.site)[-MOST_CALLS:]

    def _owner(self, variable: Variable) -> Frame | None:
        """Return the function in whose executions a variable has its values; None if it outlives them."""
        node = variable.node or self._program.parts.get(variable)
        if node is None:
            return self._results.get(variable)
        return self._frame(node) if self._program.knows(node) else None

    def _frame(self, node: cst.CSTNode) -> Frame:
        """Return `frame_of` a node, cached; a parameter belongs to its function."""
        found = self._frames.get(id(node))
        if found is None:
            tree = self._program.home(node)
            param = tree.parent(node)
            is_name = isinstance(param, cst.Param) and param.name is node
            function = next(tree.ancestors(tree.parents[param])) if param is not None and is_name else None
            is_own = isinstance(function, cst.FunctionDef | cst.Lambda)
            found = self._frames[id(node)] = cast(Frame, function) if is_own else frame_of(tree, node)
        return found
