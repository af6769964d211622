"""The engine's update rules by number; checkpoints store the numbers, and ranks compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class UpdateRule(NamedTuple):
    """A rule of the engine, and the optimizer of version 1 whose steps it computes, if there is one."""

    name: str
    slots: tuple[str, ...] = ()  #: in the order of a row
    title: str = ""  #: what messages call it
    stock: tuple[str, ...] = ()  #: classes of stock optimizers that it computes the same steps as
    usual: str = ""  #: what that of version 1 calls itself, and its slots in checkpoints


#: By number. All that Python needs to know of a rule stands here.
UPDATE_RULES: dict[int, UpdateRule] = {
    0: UpdateRule("none", (), "no optimizer", ("",)),
    1: UpdateRule(
        "sgd", (), "gradient descent", ("GradientDescentOptimizer", "ProximalGradientDescentOptimizer", "SGD")
    ),
    2: UpdateRule(
        "adagrad",
        ("accumulator",),
        "Adagrad",
        ("AdagradOptimizer", "ProximalAdagradOptimizer", "Adagrad"),
        "Adagrad",
    ),
    3: UpdateRule("lazy_adam", ("m", "v"), "lazy Adam", ("LazyAdamOptimizer",), "LazyAdam"),
    4: UpdateRule("momentum", ("momentum",), "momentum", ("MomentumOptimizer",), "Momentum"),
    5: UpdateRule("adagrad_decay", ("accumulator", "accumulator_decay_power")),
    6: UpdateRule("lazy_adamw", ("m", "v")),
    7: UpdateRule("rmsprop", ("rms", "momentum"), "RMSProp", ("RMSPropOptimizer",), "RMSProp"),
    8: UpdateRule("rmsprop_centered", ("rms", "momentum", "mg"), "centered RMSProp", ("RMSPropOptimizer",), "RMSProp"),
    9: UpdateRule("ftrl", ("accumulator", "linear"), "FTRL", ("FtrlOptimizer",), "Ftrl"),
    10: UpdateRule("group_ftrl", ("accumulator", "linear")),
    11: UpdateRule("adadelta", ("accum", "accum_update"), "Adadelta", ("AdadeltaOptimizer",), "Adadelta"),
    12: UpdateRule("adam", ("m", "v"), "Adam", ("AdamOptimizer",), "Adam"),
    13: UpdateRule("keras_adam", ("m", "v"), "Keras Adam", ("Adam",)),
    14: UpdateRule("keras_adamw", ("m", "v"), "Keras AdamW", ("AdamW",)),
    15: UpdateRule("keras_momentum", ("momentum",), "Keras SGD with momentum", ("SGD",)),
    16: UpdateRule("adagrad_inside", ("accumulator",)),
    17: UpdateRule("adam_scaled", ("m", "v")),
    18: UpdateRule("adamax", ("m", "v")),
    # Optimizers whose step a graph composes of reads and writes of rows.
    **{
        18 + count: UpdateRule(f"composed_{count}", tuple(f"slot_{n}" for n in range(count)), "a composed step")
        for count in range(1, 5)
    },
    23: UpdateRule(
        "proximal_adagrad",
        ("accumulator",),
        "proximal Adagrad",
        ("ProximalAdagradOptimizer",),
        "ProximalAdagrad",
    ),
    24: UpdateRule("proximal_sgd", (), "proximal gradient descent"),
    25: UpdateRule(
        "adagrad_da",
        ("gradient_accumulator", "gradient_squared_accumulator"),
        "Adagrad with dual averaging",
        (),
        "AdagradDA",
    ),
    26: UpdateRule("keras_momentum_rows", ("momentum",), "Momentum of Keras"),
}


#: A kind above these is that of a table with several optimizers: a byte for each, with rule and number.
_RULE_BITS, _SET_BITS = 5, 8


def rule_of(kind: int) -> tuple[str, tuple[str, ...]] | None:
    """Return name and slots of a kind in a checkpoint; None if it is unknown.

    Of several optimizers the names are joined by `+`, and the slots of all but number 0 end in `_` and the number.
    """
    if kind in UPDATE_RULES:
        return UPDATE_RULES[kind].name, UPDATE_RULES[kind].slots
    names, slots = [], []
    for number, own in sets_of(kind):
        rule = UPDATE_RULES.get(own)
        if rule is None or rule.name == "none":
            return None
        names.append(rule.name)
        slots += [f"{slot}_{number}" if number else slot for slot in rule.slots]
    return ("+".join(names), tuple(slots)) if names else None


def sets_of(kind: int) -> list[tuple[int, int]]:
    """Return the number of each optimizer's set of slots and the kind of its rule, in the order of a row."""
    sets = []
    while kind > 0:
        sets.append((kind % (1 << _SET_BITS) >> _RULE_BITS, kind % (1 << _RULE_BITS)))
        kind >>= _SET_BITS
    return sets


def joined_kind(rules: Sequence[int]) -> int:
    """Return the kind of a table with several optimizers, numbered from 0 on in this order."""
    return sum((rule | number << _RULE_BITS) << number * _SET_BITS for number, rule in enumerate(rules))


def rule_names() -> list[str]:
    """Return the names of all update rules, by their numbers."""
    return [UPDATE_RULES[number].name for number in range(len(UPDATE_RULES))]
