"""Programs for SparseOperationKit or DeepRec: a façade of the runtime runs them, and no code of theirs is converted."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.other_sdks import RULE, SDKS, WORDS, kept_by, mention
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark
from migrate.source.tensorflow.example_parts import HEAD, MADE

STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"


@register
class OtherSdk(FileRule):
    """A program that imports `sparse_operation_kit`, or uses names that only DeepRec's TensorFlow has, stays as it is.

    Its façade runs it unchanged on stock TensorFlow: `python -m runtime.compat.sok train.py`, or
    `python -m runtime.compat.deeprec train.py`. Variables of stock TensorFlow in the same program stay, too: an
    optimizer or a list of the SDK may have them. Of a program of several files, one finding says so. An import that may
    fail (`try: import sparse_operation_kit`) is a doubt about the variables alone.
    """

    id = RULE
    title = "A program for SparseOperationKit or DeepRec is left unchanged: its façade runs it"
    words = WORDS
    since = "0.2"
    refusals = (
        Refusal(
            "program",
            "`{text}` is of {title}",
            "calls of this SDK are not converted, and what they do with other variables is not analysed",
            "run the program as it is: `python -m {facade} {script}`; or write `from {facade} import install; "
            "install()` before its imports",
        ),
        Refusal(
            "tried",
            "`{text}` is of {title}, and the program may run without it",
            "what {title} does with variables, if it is installed, is not analysed",
            (
                "convert with --assume if {title} is not installed; else run the program as it is: `python -m "
                "{facade} {script}`"
            ),
            "{title} is not installed where the program runs",
        ),
    )
    examples = (
        Example(
            "SparseOperationKit",
            "import tensorflow as tf\nimport sparse_operation_kit as sok\nsok.init()\n"
            "item = sok.DynamicVariable(dimension=8)\nrows = sok.lookup_sparse(item, ids, combiners='sum')\n",
            says="`import sparse_operation_kit as sok` is of SparseOperationKit",
        ),
        Example(
            "a variable of stock TensorFlow, trained by an optimizer of DeepRec",
            HEAD + MADE + "op = tf.train.AdamAsyncOptimizer(0.1).minimize(loss)\n",
            says="`tf.train.AdamAsyncOptimizer` is of DeepRec",
        ),
        Example(
            "a program that runs without it as well",
            HEAD + "try:\n    import sparse_operation_kit as sok\nexcept ImportError:\n    sok = None\n" + MADE,
            says="the program may run without it",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for sdk in SDKS:
            use, link = mention(file, sdk), file.tree.link
            if use is None or (link is not None and not link.is_first(sdk.imported)):
                continue  # in the latter case it is said of a file that imports this one
            if sdk.target == file.target.name:
                yield Remark(
                    use, RULE, State.NOTED, f"`{file.tree.excerpt(use)}` is of {sdk.title}", "the target has it"
                )
            else:
                kept = kept_by(file, sdk, use, "program")
                yield Remark(use, RULE, State.UNSUPPORTED, kept.message, kept.reason, kept.action)

    def blockers(self, file: File) -> Iterator[Blocker]:
        for sdk in SDKS:
            use = mention(file, sdk, tried=True) if sdk.target != file.target.name else None
            if use is not None:
                yield kept_by(file, sdk, use, "tried")
