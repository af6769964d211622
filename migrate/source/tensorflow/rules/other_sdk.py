"""Programs for SparseOperationKit or DeepRec: a façade of the runtime runs them, and no code of theirs is converted."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.other_sdks import SDKS, Sdk, mention
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark

HEAD = "import tensorflow.compat.v1 as tf\n"
TABLE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"


@register
class OtherSdk(FileRule):
    """A program that imports `sparse_operation_kit`, or uses names that only DeepRec's TensorFlow has, stays as it is.

    Its façade runs it unchanged on stock TensorFlow: `python -m runtime.compat.sok train.py`, or
    `python -m runtime.compat.deeprec train.py`. Variables of stock TensorFlow in the same program stay, too: an
    optimizer or a list of the SDK may have them. Of a program of several files, one finding says so.
    """

    id = "tf-other-sdk"
    title = "A program for SparseOperationKit or DeepRec is left unchanged: its façade runs it"
    since = "0.2"
    remarks_blockers = True
    refusals = (
        Refusal(
            "program",
            "`{text}` is of {title}",
            "a façade serves its names, which are not converted; what they do with other variables is not analysed",
            "run the program as it is: `python -m {facade} {script}`; or write `from {facade} import install; "
            "install()` before its imports",
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
            "DeepRec",
            HEAD + 'item = tf.get_embedding_variable("item", 8)\nrows = tf.nn.embedding_lookup(item, ids)\n',
            says="`tf.get_embedding_variable` is of DeepRec",
        ),
        Example(
            "a variable of stock TensorFlow, trained by an optimizer of DeepRec",
            HEAD + TABLE + "op = tf.train.AdamAsyncOptimizer(0.1).minimize(loss)\n",
            says="`tf.train.AdamAsyncOptimizer` is of DeepRec",
        ),
        Example(
            "a variable of stock TensorFlow beside one of DeepRec",
            HEAD + TABLE + 'item = tf.get_embedding_variable("item", 8)\n' + STEP,
            says="is of DeepRec",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for sdk, node in _uses(file):
            link = file.tree.link
            if link is not None and not link.is_first(sdk.imported):
                continue  # said of a file that imports this one
            if sdk.target == file.target.name:
                message = f"`{_shown(file, node)}` is of {sdk.title}"
                yield Remark(node, self.id, State.NOTED, message, "the target has it")
                continue
            said = self._blocker(file, sdk, node)
            yield Remark(node, self.id, State.UNSUPPORTED, said.message, said.reason, said.action)

    def blockers(self, file: File) -> Iterator[Blocker]:
        for sdk, node in _uses(file):
            if sdk.target != file.target.name:
                yield self._blocker(file, sdk, node)

    def _blocker(self, file: File, sdk: Sdk, node: cst.CSTNode) -> Blocker:
        link, text = file.tree.link, _shown(file, node)
        script = file.tree.path if link is None else link.started()
        return blocker(node, self.id, "program", text=text, title=sdk.title, facade=sdk.facade, script=script)


def _uses(file: File) -> list[tuple[Sdk, cst.CSTNode]]:
    """Return the SDKs that a file uses, each with the first code that does."""
    return [(sdk, node) for sdk in SDKS if (node := mention(file, sdk)) is not None]


def _shown(file: File, node: cst.CSTNode) -> str:
    return " ".join(file.tree.source(node).split())[:60]
