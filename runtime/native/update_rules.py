"""The engine's update rules by number; checkpoints store the numbers, and ranks compare them."""

from __future__ import annotations

from collections.abc import Sequence

#: For each number: the rule's name and its slots, in the order of a row.
UPDATE_RULES: dict[int, tuple[str, tuple[str, ...]]] = {
    0: ("none", ()),
    1: ("sgd", ()),
    2: ("adagrad", ("accumulator",)),
    3: ("lazy_adam", ("m", "v")),
    4: ("momentum", ("momentum",)),
    5: ("adagrad_decay", ("accumulator", "accumulator_decay_power")),
    6: ("lazy_adamw", ("m", "v")),
    7: ("rmsprop", ("rms", "momentum")),
    8: ("rmsprop_centered", ("rms", "momentum", "mg")),
    9: ("ftrl", ("accumulator", "linear")),
    10: ("group_ftrl", ("accumulator", "linear")),
    11: ("adadelta", ("accum", "accum_update")),
    12: ("adam", ("m", "v")),
    13: ("keras_adam", ("m", "v")),
    14: ("keras_adamw", ("m", "v")),
    15: ("keras_momentum", ("momentum",)),
    16: ("adagrad_inside", ("accumulator",)),
    17: ("adam_scaled", ("m", "v")),
    18: ("adamax", ("m", "v")),
    # Optimizers whose step a graph composes of reads and writes of rows.
    **{18 + count: (f"composed_{count}", tuple(f"slot_{n}" for n in range(count))) for count in range(1, 5)},
    23: ("proximal_adagrad", ("accumulator",)),
    24: ("proximal_sgd", ()),
    25: ("adagrad_da", ("gradient_accumulator", "gradient_squared_accumulator")),
    26: ("keras_momentum_rows", ("momentum",)),
}


#: A kind above these is that of a table with several optimizers: a byte for each, with rule and number.
_RULE_BITS, _SET_BITS = 5, 8


def rule_of(kind: int) -> tuple[str, tuple[str, ...]] | None:
    """Return name and slots of a kind in a checkpoint; None if it is unknown.

    Of several optimizers the names are joined by `+`, and the slots of all but number 0 end in `_` and the number.
    """
    if kind in UPDATE_RULES:
        return UPDATE_RULES[kind]
    names, slots = [], []
    for number, own in sets_of(kind):
        rule = UPDATE_RULES.get(own)
        if rule is None or rule[0] == "none":
            return None
        names.append(rule[0])
        slots += [f"{slot}_{number}" if number else slot for slot in rule[1]]
    return ("+".join(names), tuple(slots)) if names else None


def sets_of(kind: int) -> list[tuple[int, int]]:
    """Return the number of each optimizer's set of slots and the kind of its rule, in the order of a row."""
    found = []
    while kind > 0:
        found.append((kind % (1 << _SET_BITS) >> _RULE_BITS, kind % (1 << _RULE_BITS)))
        kind >>= _SET_BITS
    return found


def joined_kind(rules: Sequence[int]) -> int:
    """Return the kind of a table with several optimizers, numbered from 0 on in this order."""
    return sum((rule | number << _RULE_BITS) << number * _SET_BITS for number, rule in enumerate(rules))


def rule_names() -> list[str]:
    """Return the names of all update rules, by their numbers."""
    return [UPDATE_RULES[number][0] for number in range(len(UPDATE_RULES))]
