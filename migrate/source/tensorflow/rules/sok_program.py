"""`hvd.init()` and `sok.init()` -> `ranks.start()`, and the other calls of Horovod."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nimport sparse_operation_kit as sok\n"


@register
class SokProgram(Rule):
    """The initialization of SOK becomes that of the runtime's ranks.

    Horovod is removed where the ranks have an equivalent of every call of it in the file: rank and size, sums and means
    over the ranks, and copies of variables in eager code. Otherwise its calls are left unchanged, the ranks connect
    through Horovod, and a finding states the reason.
    """

    id = "tf-sok-program"
    title = "A program for SparseOperationKit runs on the ranks of the runtime"
    refusals = (
        *OF_CALLS,
        Refusal(
            "lacking",
            "`sok.{name}` is called",
            "the runtime has no counterpart, or none that can replace the call",
            "{text}",
        ),
        Refusal(
            "unread-store",
            "what `sok.{name}` takes cannot be read",
            "a path and variables are needed",
            "give both by name",
        ),
        Refusal(
            "unknown-stored",
            "`{shown}`, which `sok.{name}` takes, is not known to be variables of SOK",
            "only tables have rows",
            "give a list of the variables that this file makes",
        ),
        Refusal(
            "stored-in-graph",
            "`sok.{name}` is called in a v1 graph",
            "a session saves tables by the runtime's Saver",
            "save by runtime.ranks.checkpoint.Saver",
        ),
        Refusal(
            "maybe-optimizer",
            "the optimizer that `sok.{name}` takes may be None",
            "with one, slots belong to the rows, without one they do not",
            "call it twice, with an optimizer and without",
        ),
        Refusal(
            "stored-elsewhere",
            "files are loaded that this program does not dump",
            "the runtime reads checkpoints of tables, not the files of SOK",
            "dump them by a converted program, and convert this one with --assume",
            "the files that it loads are saved by a converted program",
        ),
        Refusal(
            "argument",
            "`{text}` is given to `sok.{name}`",
            "",
            "leave it out",
        ),
        Refusal(
            "result-used",
            "`{shown}` uses what `sok.{name}` returns",
            "connecting the ranks returns nothing that can be used",
            "call it as a statement of its own",
        ),
        Refusal(
            "not-called",
            "`{text}` is used without a call",
            "only calls by the public names are converted",
        ),
        Refusal(
            "runtime-module",
            "`runtime.py` exists",
            "next to the converted file, it would hide the installed package `runtime`",
            "rename that module",
        ),
        Refusal(
            "shared-import",
            "`{shown}` cannot be removed",
            "",
            "import it on a line of its own",
        ),
        Refusal(
            "nested-calls",
            "a converted call contains another converted call",
            "each call is converted separately",
            "bind the inner call to a name first",
        ),
        Refusal(
            "contrib",
            "`contrib` is used",
            "the installed TensorFlow does not have it",
            "replace it by what TensorFlow 2 has",
        ),
        Refusal(
            "version-1-import",
            "`{shown}` is TensorFlow 1's",
            "the installed TensorFlow has it in `compat.v1`",
            "write `import tensorflow.compat.v1 as tf`",
        ),
        Refusal(
            "given-to-horovod",
            "`{text}` takes SOK variables",
            "Horovod does not support tables",
            "leave them out",
        ),
    )
    examples = (
        Example(
            "Horovod is no longer needed",
            HEAD + "hvd.init()\nsok.init()\nprint(hvd.rank())\ntotal = hvd.allreduce(loss, op=hvd.Sum)\n",
            "import tensorflow as tf\nfrom runtime import ranks\nranks.start()\nprint(ranks.rank())\n"
            "total = ranks.current().all_reduce(loss)\n",
        ),
        Example(
            "Horovod is still needed",
            HEAD + "hvd.init()\nsok.init()\nall = hvd.allgather(losses)\n",
            "import tensorflow as tf\nimport horovod.tensorflow as hvd\nfrom runtime import ranks\n"
            'hvd.init()\nranks.start("horovod")\nall = hvd.allgather(losses)\n',
        ),
        Example(
            "increments of SOK's own format",
            HEAD + "keys, rows = sok.incremental_model_dump(tables, since)\n",
            says="`sok.incremental_model_dump` is called",
        ),
    )
