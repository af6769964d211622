"""The engine's update rules by number; checkpoints store the numbers, and ranks compare them."""

from __future__ import annotations

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
}


def rule_names() -> list[str]:
    """Return the names of all update rules, by their numbers."""
    return [UPDATE_RULES[number][0] for number in range(len(UPDATE_RULES))]
