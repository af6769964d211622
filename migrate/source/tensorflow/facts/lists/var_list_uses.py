"""Lists of variables whose only use is to tell a training step what to train; the step itself judges them."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning, method_sink
from migrate.source.tensorflow.facts.optimizers.training_model import is_elsewhere


def is_given_to_training(file: File, node: cst.CSTNode) -> bool:
    """True for the argument of a training step, or of `gradients`, that determines what is trained."""
    arg = file.tree.parent(node)
    call = file.tree.call_with(node)
    if call is None or not isinstance(arg, cst.Arg) or arg.star:
        return False
    gradients = SINKS["gradients"]
    if file.names.of(call.func) == gradients.symbol:
        return gradients.takes(call, arg)
    sink = method_sink(call)
    trains = sink is not None and sink.meaning is Meaning.TRAINED and not is_elsewhere(file, call)
    return sink is not None and trains and sink.takes(call, arg)
