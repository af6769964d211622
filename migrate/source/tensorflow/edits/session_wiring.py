"""The plan for code around the model: hooks of sessions, the beginning and the end of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import by_keyword
from migrate.source.tensorflow.base.insertion_points import end_of_line, line_after, line_before
from migrate.source.tensorflow.base.model import Adaptation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.edits.training_steps import StepEditing
from migrate.source.tensorflow.facts.ids.sessions import (
    HookedCall,
    builds_before,
    hooked,
    initializers,
    iterators,
    main_block,
    runs_at_top,
    runs_before,
    sessions,
    with_hooks,
)
from migrate.targets.base import Hook, Program

RULE = "tf-target"


def _takes(calls: Sequence[HookedCall], hook: Hook) -> bool:
    """Whether a hook is given to one of these sessions."""
    return any(call.trains or not hook.trains for call in calls)


class AroundEditing(StepEditing):
    """Writes the code that the target needs around the model, and notes what could not be inserted."""

    def _around(self) -> None:
        hooks = list(self.target.hooks(self.file.switches))
        if self.target.program is None and not hooks:
            return
        hooked_calls = hooked(self.file)
        for hooked_call in hooked_calls:
            taken = [hook for hook in hooks if _takes([hooked_call], hook)]
            if taken:
                self._hook(hooked_call, [f"{self._function(hook.function)}({hook.arguments})" for hook in taken])
        program = self.target.program
        session = self._plain_session() if program is not None and program.pipeline else None
        plain = session is not None
        if session is not None:
            self._before_session(session)
        hooked_calls += [hooked_call for part in self._program() for hooked_call in hooked(part)]
        missing = [hook for hook in hooks if not (plain and hook.modifies) and not _takes(hooked_calls, hook)]
        if missing:
            names = " and ".join(f"`{hook.function}({hook.arguments})`" for hook in missing)
            action = f"pass {names} to its session"
            if any(hook.modifies for hook in missing):
                action += (
                    "; or call modify_graph_and_start_emb_cache() before a plain session, and initialize the iterator"
                )
                action += " by ConfigInitializer.get_instance().train_params_config.get_initializer(True)"
            self._note("this program has no session whose hooks can be changed", action)
        if program is not None:
            self._begin_and_end(program)
            if program.pipeline and self._lacks_prefetch():
                action = "end the dataset with `.prefetch(1)`, by which the SDK finds it"
                self._note("the dataset of a one-shot iterator does not end with `.prefetch`", action)

    def _note(self, message: str, action: str) -> None:
        self.plan.notes.append(Adaptation(self.tree.module, RULE, message, action=action))

    def _hook(self, hooked_call: HookedCall, hooks: list[str]) -> None:
        """Insert hooks before those that a call receives."""
        node, text = with_hooks(self.file, hooked_call, hooks)
        if node is not None:
            self.plan.edits.append(Edit(*self.tree.span(node), text))
            return
        args = hooked_call.call.args
        where = self.tree.outer_span(args[-1].value)[1] if args else self.tree.span(hooked_call.call)[1] - 1
        self.plan.edits.append(Edit(where, where, f"{', ' if args else ''}hooks={text}"))

    def _plain_session(self) -> cst.Call | None:
        """Return the plain session before which the graph is complete, where it is known from the source."""
        opened = sessions(self.file)
        moving = [t for t in self.judgement.moving if self._is_mine(t.creation.call)]
        building = [t.creation.call for t in moving] + [use.call for t in moving for use in t.lookups]
        building += [step.call for step in self.judgement.steps]
        mine = all(self._is_mine(call) for call in building)
        if not opened or not building:
            return None
        line = self.tree.statement(opened[0])
        several = isinstance(line, cst.With) and len(line.items) > 1
        bare = len(opened) == 1 and by_keyword(opened[0], "graph") is None
        certain = mine and bare and not several and builds_before(self.file, opened[0], building)
        return opened[0] if certain and len(iterators(self.file)) == 1 else None

    def _before_session(self, session: cst.Call) -> None:
        """Modify the graph before a plain session, which then initializes the new iterator."""
        start = self._function("modify_graph_and_start_emb_cache")
        self.plan.edits.append(line_before(self.tree, session, [f"{start}()"]))
        for use in initializers(self.file):
            config = f"{self._function('ConfigInitializer')}.get_instance()"
            self.plan.edits.append(Edit(*self.tree.span(use), f"{config}.train_params_config.get_initializer(True)"))

    def _program(self) -> Sequence[File]:
        return self.file.program(self.tree.module)

    def _begin_and_end(self, program: Program) -> None:
        """Write the first lines and the last line of the program, where they are in this file."""
        block = main_block(self.file)
        if block is None and not runs_at_top(self.file):
            if not any(main_block(part) or runs_at_top(part) for part in self._program()):
                silent = replace(self.spelling, function=lambda name: self.target.functions[name].name)
                last_call = f", and `{program.end}()` at the end of the program" if program.end else ""
                action = f"call `{'; '.join(program.begin(silent))}` before the model is built{last_call}"
                self._note("the code that runs this model is not in this file", action)
            return
        begin = program.begin(self.spelling)
        last: cst.CSTNode = (block or self.tree.module).body[-1]
        started = [*sessions(self.file), *(one.call for one in hooked(self.file))]
        started += [one.creation.call for one in self.judgement.moving if self._is_mine(one.creation.call)]
        if block is None or runs_before(self.file, block, started):
            self.head += begin
        else:
            self.plan.edits.insert(0, line_before(self.tree, block.body[0], begin))
        if not program.end or self._leaves(last):
            return  # the SDK shuts down with the process
        end = f"{self._function(program.end)}()"
        if isinstance(block, cst.SimpleStatementSuite):
            self.plan.edits.append(line_after(self.tree, last, [end]))
            return
        indent = self.tree.indent(last) if block is not None else ""
        where = end_of_line(self.tree, last)
        newline = self.tree.newline
        missing = "" if self.tree.text[where - 1 : where] in {"\n", "\r"} else newline
        self.plan.edits.append(Edit(where, where, f"{missing}{indent}{end}{newline}"))

    def _lacks_prefetch(self) -> bool:
        trees = [part.tree for part in self._program()]
        one_shot = any("make_one_shot_iterator" in {*tree.attributes, *tree.names} for tree in trees)
        return one_shot and not any("prefetch" in tree.attributes for tree in trees)

    def _leaves(self, statement: cst.CSTNode) -> bool:
        """True for `tf.app.run()` and `sys.exit()`, after which no code runs."""
        text = self.tree.source(statement)
        return any(word in text for word in ("app.run(", "sys.exit(")) and not isinstance(statement, cst.FunctionDef)
