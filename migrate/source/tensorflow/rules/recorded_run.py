"""Tables that a recorded run uses in a way that the source does not show."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.checks.check_rule import CheckRule


@register
class RecordedRun(CheckRule):
    """A record of `migrate trace` shows an op that reads, trains or sets the table's variable at another place.

    The run is right, and what the source shows is not all: the source is not converted, whatever is assumed.
    """

    id = "tf-evidence"
    title = "A table that a recorded run uses otherwise than the source shows is left unchanged"
    since = "0.2"
    applicability = None
    examples = (
        Example(
            "without `--evidence`, the source alone is judged",
            "import sys\nimport tensorflow.compat.v1 as tf\n"
            'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
            "e = tf.nn.embedding_lookup(W, ids)\nx = eval(sys.argv[1])\n",
        ),
    )
    refusals = (
        Refusal(
            "used-elsewhere",
            "a recorded run uses `{label}` at {place}",
            "`{op}` in {record} is none of the uses that were found",
            "name the table at that place; or keep it dense",
        ),
        Refusal(
            "trained-otherwise",
            "a recorded run trains `{label}` by `{kind}`",
            "the source shows another optimizer, and {record} is of a run in which its name had another value",
            "name the table at that place; or keep it dense",
        ),
    )
