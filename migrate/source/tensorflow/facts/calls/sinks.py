"""Sinks: what functions and methods do with a variable that they receive, as one row per function and argument."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import libcst as cst

#: The receiver as an argument, as in `W.assign(rows)`.
SELF = "self"


class Meaning(Enum):
    """What a sink does. The value is the key of the refusal of `tf-whole-table` for a table that reaches it."""

    TRAINED = "trained"  #: it determines what a step trains, or gradients with respect to it are taken
    DIFFERENTIATED = "gradient"
    SUMMED = "l2"  #: a function of every entry, whose sum is often a regularization term
    MULTIPLIED = "matrix"
    SAMPLED = "sampled-loss"
    WRITTEN = "written"
    FETCHED = "fetched"
    MEASURED = "attribute-read"
    COMPUTED = "computed-with"  #: an op that needs the matrix
    LOGGED = "histogram"
    SAVED = "saver"
    GATHERED = "gathered"
    COLLECTED = "collected"
    PLACED = "colocated"


@dataclass(frozen=True)
class Sink:
    """One function by its canonical name, or one method or attribute as `.name`."""

    symbol: str
    meaning: Meaning
    argument: str = ""  #: the parameter that takes the value; empty if all parameters have the same meaning
    place: int = 0  #: the position of that parameter

    def takes(self, call: cst.Call, arg: cst.Arg) -> bool:
        """True if `arg` is the argument of the call that takes the value."""
        if arg.keyword is not None:
            return arg.keyword.value == self.argument
        return not arg.star and len(call.args) > self.place and call.args[self.place] is arg


def _each(meaning: Meaning, *symbols: str, argument: str = "") -> tuple[Sink, ...]:
    return tuple(Sink(symbol, meaning, argument) for symbol in symbols)


_ROWS = (
    Sink(".minimize", Meaning.TRAINED, "var_list", 2),
    Sink(".compute_gradients", Meaning.TRAINED, "var_list", 1),
    Sink(".apply_gradients", Meaning.TRAINED, "grads_and_vars", 0),
    Sink("gradients", Meaning.DIFFERENTIATED, "xs", 1),
    *_each(Meaning.SUMMED, "nn.l2_loss", "contrib.layers.l2_regularizer", "square", "math.square", "norm"),
    *_each(Meaning.MULTIPLIED, "matmul", "linalg.matmul", "multiply"),
    *_each(Meaning.COMPUTED, "concat"),
    *_each(Meaning.SAMPLED, "nn.sampled_softmax_loss", "nn.nce_loss"),
    *_each(Meaning.COMPUTED, "nn.l2_normalize"),
    *_each(Meaning.WRITTEN, "assign", "scatter_update", "scatter_add", "scatter_sub"),
    *_each(Meaning.WRITTEN, ".assign", ".assign_add", ".assign_sub", ".scatter_update", ".load", argument=SELF),
    *_each(Meaning.FETCHED, ".eval", ".read_value", ".value", ".numpy", ".initialized_value", argument=SELF),
    *_each(Meaning.MEASURED, ".shape", ".get_shape", ".dtype", argument=SELF),
    *_each(Meaning.MEASURED, ".name", ".op", argument=SELF),
    Sink("identity", Meaning.COMPUTED, "input"),
    Sink("convert_to_tensor", Meaning.COMPUTED, "value"),
    *_each(Meaning.FETCHED, ".run"),
    *_each(Meaning.LOGGED, "summary.histogram"),
    *_each(Meaning.SAVED, "train.Saver"),
    *_each(Meaning.GATHERED, "gather_nd"),
    *_each(Meaning.COLLECTED, "add_to_collection"),
    *_each(Meaning.PLACED, "colocate_with"),
)
SINKS = {sink.symbol: sink for sink in _ROWS}
#: The methods of optimizers that train variables, or compute what is trained.
TRAINING = tuple(sink.symbol[1:] for sink in _ROWS if sink.meaning is Meaning.TRAINED)


def method_sink(call: cst.Call) -> Sink | None:
    """Return the sink of a method call on any object; None if the method is no sink for its arguments."""
    sink = SINKS.get(f".{call.func.attr.value}") if isinstance(call.func, cst.Attribute) else None
    return sink if sink is not None and sink.argument != SELF else None


def asked(name: str) -> Sink | None:
    """Return the sink of an attribute or a method of the variable itself."""
    sink = SINKS.get(f".{name}")
    return sink if sink is not None and sink.argument == SELF else None
