"""The conversion of a file for another SDK while it is collected: edits, blockers, and a message for each part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, dropped
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.insertion_points import import_offset, kept_comments, line_before
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.targets.layout import call as laid_out


@dataclass
class Part:
    """A call of another SDK and its replacement."""

    call: cst.CSTNode
    rule: str
    subject: str  #: `table`, `lookup`, `optimizer`, `use` or `import`, as a finding's
    label: str  #: its name in messages
    message: str
    after: str = ""
    reason: str = ""
    dim: str = ""
    initializer: str = ""
    reads: list[cst.Call] = field(default_factory=list)  #: the lookups of a table


class Draft:
    """Collects the conversion of a file, which is converted completely or not at all."""

    def __init__(self, file: File, homes: Mapping[str, str]) -> None:
        """Begin empty; `homes` are the modules of the names that may be written."""
        self._homes = homes
        self.file, self.tree = file, file.tree
        self.edits: list[Edit] = []
        self.blockers: list[Blocker] = []
        self.parts: list[Part] = []
        self.done: list[cst.CSTNode] = []  #: nodes whose whole text is replaced
        self.behind: list[str] = []  #: lines after the imports
        self.dropped: dict[int, tuple[str, ...]] = {}  #: call -> arguments removed, as the runtime lacks them
        self._fresh = Fresh(file.tree.identifiers(), file.tree.bound())

    def function(self, name: str) -> str:
        """Return the local name of a function of the runtime, and import it."""
        return self._fresh.imports(name)

    def local(self, name: str) -> str:
        """Return a name that is unused in the file."""
        return self._fresh.local(name)

    def block(self, node: cst.CSTNode, rule: str, key: str, **words: Any) -> None:
        """Record a blocker of the file, in the words of the row `key` of a rule."""
        self.blockers.append(blocker(node, rule, key, **words))

    def replace(self, node: cst.CSTNode, text: str) -> None:
        """Replace a node by `text`."""
        self.edits.append(Edit(*self.tree.span(node), text))
        self.done.append(node)

    def write(self, call: cst.Call, function: str, arguments: Sequence[str]) -> str:
        """Replace a call, with its comments above it; return its text."""
        text = laid_out(self.function(function), arguments, self.tree.lead(call), self.tree.newline)
        if comments := kept_comments(self.tree, call):
            self.edits.append(line_before(self.tree, call, comments))
        self.replace(call, text)
        return text

    def arguments(self, call: cst.Call, parameters: Sequence[str], rule: str) -> dict[str, cst.Arg] | None:
        """Return the arguments of a call by name; None, and a blocker, where they are not known."""
        given = bind(call, parameters)
        if given is None:
            known = {arg.keyword.value for arg in call.args if arg.keyword is not None} - set(parameters)
            text = " ".join(self.tree.source(call.func).split())
            self.block(
                call, rule, "unknown-argument" if known else "unread-arguments", text=text, name=min(known, default="")
            )
        return given

    def drops(self, call: cst.Call, given: Mapping[str, cst.Arg], carried: Collection[str]) -> None:
        """Record as removed all arguments of a call except those `carried` over."""
        self.dropped[id(call)] = dropped(given, carried)

    def exchange(
        self,
        call: cst.Call,
        function: str,
        given: Mapping[str, cst.Arg],
        renamed: Mapping[str, str],
        order: Sequence[str],
    ) -> None:
        """Replace the function of a call, argument by argument, which keeps layout and comments.

        `renamed` gives the new names of the kept arguments, and `order` the parameters of `function`.
        """
        self.replace(call.func, self.function(function))
        self.drops(call, given, renamed.keys())
        names = {id(arg): renamed.get(name, "") for name, arg in given.items()}
        kept = [arg for arg in call.args if names[id(arg)]]
        plain = True
        for place, arg in enumerate(kept):
            new = names[id(arg)]
            if arg.keyword is not None:
                plain = False
                if arg.keyword.value != new:
                    self.edits.append(Edit(*self.tree.span(arg.keyword), new))
            elif not plain or place >= len(order) or order[place] != new:
                plain = False
                start = self.tree.outer_span(arg.value)[0]
                self.edits.append(Edit(start, start, f"{new}="))
        self._drop(call, [not names[id(arg)] for arg in call.args])

    def _drop(self, call: cst.Call, gone: Sequence[bool]) -> None:
        """Remove arguments from a call, each with the comma before it; of the first, the comma after it."""
        tree, args = self.tree, call.args
        first = next((at for at, drops in enumerate(gone) if not drops), len(args))
        ends = [tree.outer_span(arg.value)[1] for arg in args]
        taken = []
        if first == len(args):
            taken += [(tree.span(args[0])[0], tree.span(call)[1] - 1)] if args else []
        elif first:
            taken.append((tree.span(args[0])[0], tree.span(args[first])[0]))
        taken += [(ends[at - 1], ends[at]) for at in range(first + 1, len(args)) if gone[at]]
        for start, end in taken:
            comments = [line.strip() for line in tree.text[start:end].splitlines() if line.strip().startswith("#")]
            if comments:
                self.edits.append(line_before(tree, call, comments))
            self.edits.append(Edit(start, end, ""))

    def imports(self) -> None:
        """Add the imports of the called functions, and the lines after them; must be called last."""
        tree, lines = self.tree, []
        for home in sorted({self._homes[name] for name in self._fresh.imported}):
            names = sorted(name for name in self._fresh.imported if self._homes[name] == home)
            pairs = [(name, self._fresh.imported[name]) for name in names]
            listed = ", ".join(name if name == local else f"{name} as {local}" for name, local in pairs)
            lines.append(f"from {home} import {listed}")
        lines += ["", *self.behind] if self.behind else []
        first = min((tree.span(node)[0] for node in self.done), default=1)
        where = import_offset(tree, max(first, 1))
        text = "".join(line + tree.newline for line in lines)
        if where > 0 and tree.text[where - 1] not in "\r\n":
            text = tree.newline + text
        self.edits.insert(0, Edit(where, where, text))  # before other text that is inserted there
