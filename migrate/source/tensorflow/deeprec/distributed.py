"""DeepRec's switch for several processes: the ranks share the tables, as its processes share EmbeddingVariables."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.deeprec_symbols import PROGRAM, STRATEGIES
from migrate.source.tensorflow.base.insertion_points import without_line
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

_COPIES = "as before, gradients of other variables are not summed over ranks: ranks.reduced_gradients does that"


def read_strategies(draft: Draft) -> None:
    """Connect the ranks where DeepRec shares variables between processes, and remove calls that keep them local."""
    for call, name in draft.file.calls(*STRATEGIES):
        parameter, default = STRATEGIES[name]
        given = draft.arguments(call, (parameter,), PROGRAM)
        if given is None:
            continue
        chosen = string(given[parameter].value) if parameter in given else default
        line = draft.tree.statement(call)
        alone = isinstance(draft.tree.parent(call), cst.Expr)
        short = name.rpartition(".")[2]
        if chosen not in {"collective", "localized"} or line is None or not alone:
            draft.block(call, PROGRAM, "unknown-strategy", short=short)
        elif chosen == "collective":
            text = f"{draft.function('ranks')}.start()"
            draft.replace(call, text)
            message = f"`{short}` becomes `{text}`, after which the ranks share the tables"
            draft.parts.append(Part(call, PROGRAM, "use", short, message, text, _COPIES))
        else:
            single = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
            if single:
                draft.edits.append(without_line(draft.tree, line, {id(line)}))
                draft.done.append(call)
            else:
                draft.replace(call, "None")
            message = f"`{short}` is removed: each process has its own tables anyway"
            draft.parts.append(Part(call, PROGRAM, "use", short, message))
