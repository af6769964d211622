"""`hvd.init()` and `sok.init()` -> `ranks.start()`, and what is left of Horovod."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nimport sparse_operation_kit as sok\n"


@register
class SokProgram(Rule):
    """Where SOK is initialised, the ranks of the runtime are connected.

    Horovod goes where all that the file does with it is known to be the same with ranks: their number, sums and means
    over them, and copies of variables in eager code. Else it stays as it is, the ranks are connected by it, and a
    finding says what keeps it.
    """

    id = "tf-sok-program"
    title = "A program for SparseOperationKit runs on the ranks of the runtime"
    examples = (
        Example(
            "Horovod is no longer needed",
            HEAD + "hvd.init()\nsok.init()\nprint(hvd.rank())\ntotal = hvd.allreduce(loss, op=hvd.Sum)\n",
            "import tensorflow as tf\nfrom runtime import ranks\nranks.start()\nprint(ranks.rank())\n"
            "total = ranks.current().all_reduce(loss)\n",
        ),
        Example(
            "Horovod stays",
            HEAD + "hvd.init()\nsok.init()\nall = hvd.allgather(losses)\n",
            "import tensorflow as tf\nimport horovod.tensorflow as hvd\nfrom runtime import ranks\n"
            'hvd.init()\nranks.start("horovod")\nall = hvd.allgather(losses)\n',
        ),
        Example("files of SOK's own format", HEAD + "sok.dump(path, tables)\n", says="`sok.dump` is called"),
    )
