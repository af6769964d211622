"""Finds a stock variable and its optimizer slots in a checkpoint, by TensorFlow's names for them, and by a table's.

v1 optimizers: `<variable>/<Optimizer>`, `<variable>/<Optimizer>_1`, … in the order in which they create their slots,
below the variable scope in which they were called.
Keras up to 2.10 and `legacy`: `<variable>/.OPTIMIZER_SLOT/<optimizer>/<slot>/.ATTRIBUTES/VARIABLE_VALUE`.
Keras from 2.11 on numbers its variables; the object graph in the checkpoint has their full names:
`<Optimizer>/<slot>/<variable>`, and in Keras 3 `<optimizer>/<variable with _ for />_<slot>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runtime import _tf_private
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.native.update_rules import UPDATE_RULES

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"

# The runtime's slot names, with Keras' names for them.
_SPELLINGS = {
    "m": ("m", "momentum"),
    "v": ("v", "velocity"),
    "accumulator": ("accumulator", "accum"),
    "linear": ("linear",),
    "momentum": ("momentum", "m"),
    "rms": ("rms", "velocity", "v"),
    "mg": ("mg", "average_gradient"),
    "accum": ("accum_grad", "accumulated_grad"),
    "accum_update": ("accum_var", "accumulated_delta_var"),
}
#: What v1 optimizers call themselves.
_USUAL = {rule.name: rule.usual for rule in UPDATE_RULES.values() if rule.usual}
# Patterns for the names of v1 optimizers that have the slots of a rule, where these are not the usual name alone.
_PATTERNS = {
    "adagrad_inside": "adagrad",
    "adagrad_decay": "adagraddecay",
    "keras_momentum": "momentum|sgd",
    "keras_momentum_rows": "momentum|sgd",
    "group_ftrl": "group_?ftrl|ftrl",
} | dict.fromkeys(("lazy_adam", "lazy_adamw", "adam", "adam_scaled", "keras_adam", "keras_adamw"), "(lazy_?)?adamw?")
# The order in which v1 creates the slots, where it is not that of a row.
_ORDERS = {"rmsprop_centered": ("rms", "mg", "momentum")}
# The rules by name: that pattern, and the slots in the order of v1.
_V1: dict[str, tuple[str, tuple[str, ...]]] = {
    rule.name: (pattern, _ORDERS.get(rule.name, rule.slots))
    for rule in UPDATE_RULES.values()
    if (pattern := _PATTERNS.get(rule.name, rule.usual.lower())) and rule.slots
}


def find_variable(bundle: Bundle, name: str) -> str:
    """Return the tensor of the variable `name`, given by its name in the checkpoint, the graph or the object graph.

    Raises:
        CheckpointError: there is none; the message lists similar names.
    """
    name = name.removesuffix(":0")
    for known in (name, name + _VALUE, full_names(bundle).get(name, "")):
        if known in bundle:
            return known
    spelled = [full for full in full_names(bundle) if name in full]
    also = f", or by object names {', '.join(spelled[:5])}" if spelled else ""
    raise CheckpointError(f"{bundle.path} holds no variable `{name}`: {bundle.near(name)}{also}")


def find_slots(bundle: Bundle, variable: str, optimizer: str, slots: tuple[str, ...]) -> dict[str, str]:
    """Return the tensors of the `slots` of `optimizer` that belong to the tensor `variable`; empty if it has none.

    Raises:
        CheckpointError: some exist and some do not.
    """
    tensors = _v1_slots(bundle, variable, optimizer) or _keras_slots(bundle, variable, slots)
    missing = [slot for slot in slots if slot not in tensors]
    if tensors and missing:
        raise CheckpointError(
            f"{bundle.path} holds the slots {', '.join(tensors)} of `{variable}` but not {', '.join(missing)}: name "
            "the tensors in slots={…}, or give slots={} to start with new ones"
        )
    return tensors


def v1_slot_names(variable: str, optimizer: str, slots: Sequence[str]) -> list[str]:
    """Return the tensors of an optimizer's slots as a v1 optimizer with its usual name calls them.

    Raises:
        CheckpointError: there is no such v1 optimizer.
    """
    if not slots:
        return []
    if optimizer not in _V1 or optimizer not in _USUAL:
        raise CheckpointError(
            f"{optimizer} is no optimizer of tf.compat.v1.train, so its slots have no names there: give a "
            "checkpoint of the original"
        )
    order = _V1[optimizer][1]
    numbers = [order.index(slot) for slot in slots]
    return [f"{variable}/{_USUAL[optimizer]}" + (f"_{number}" if number else "") for number in numbers]


def full_names(bundle: Bundle) -> dict[str, str]:
    """Return the tensors of an object-based checkpoint by the full names of their variables."""
    if _tf_private.OBJECT_GRAPH_KEY not in bundle:
        return {}
    nodes = _tf_private.parse_object_graph(bundle.read(_tf_private.OBJECT_GRAPH_KEY).item())
    return {item.full_name: item.checkpoint_key for node in nodes for item in node.attributes if item.full_name}


def slots_in_version_1(bundle: Bundle, variable: str) -> dict[str, dict[int, str]]:
    """Return what v1 optimizers may have as slots of a variable, by a name such as `user/Adam`: 0, 1, … -> tensor.

    Moving averages have the names of slots, and are none.
    """
    shape = bundle.shapes[variable]
    numbers: dict[str, dict[int, str]] = {}
    for tensor in bundle.shapes:
        match = re.fullmatch(r"(.+)/([^/]+?)(?:_(\d+))?", tensor)
        if not match or bundle.shapes[tensor] != shape or match[2] == "ExponentialMovingAverage":
            continue
        if _owner(bundle, match[1]) == variable:
            numbers.setdefault(f"{match[1]}/{match[2]}", {})[int(match[3] or 0)] = tensor
    return numbers


def optimizers_by_slots(bundle: Bundle, variable: str) -> dict[str, str]:
    """Return the optimizers whose usual v1 names slots of a variable have: the runtime's name -> that of the slots."""
    optimizers = {}
    for name, numbers in slots_in_version_1(bundle, variable).items():
        for optimizer, usual in _USUAL.items():
            if name.rpartition("/")[2] == usual and len(numbers) == len(_V1[optimizer][1]):
                optimizers[optimizer] = name
    return optimizers


def own_variables(bundle: Bundle) -> list[str]:
    """Return the tensors that may be variables of a program: no slots, no moving averages and no parts of tables."""
    tables = {name.removesuffix("-meta") for name in bundle.shapes if name.endswith("-meta")}
    return [
        name
        for name, shape in bundle.shapes.items()
        if not {name, name.rpartition("-")[0]} & tables
        and ((owner := _owner(bundle, name.rpartition("/")[0])) is None or bundle.shapes[owner] != shape)
    ]


def variables_by_name(tables: Mapping[str, int], variables: Mapping[str, int]) -> dict[str, list[str]]:
    """Return for tables the variables of their width that they replaced, by the names; where it is one, it is that.

    A table has the name of its variable, with `_` for what is no letter or digit, or the last parts of it: of a
    variable in a scope, or of columns that share one. More parts count more, and a variable has one table. Both are
    given with their widths; a width of 0 fits any.
    """
    spelled: dict[str, list[tuple[int, str]]] = {}
    for name in variables:
        parts = name.split("/")
        for left_out in range(len(parts)):
            spelled.setdefault(_plain("/".join(parts[left_out:])), []).append((left_out, name))
    ways = {
        table: [
            (-1 if name == table else left_out, name)
            for left_out, name in spelled.get(_plain(table), ())
            if width in (0, variables[name])
        ]
        for table, width in tables.items()
    }
    named: dict[str, list[str]] = {}
    taken: set[str] = set()
    for rank in sorted({rank for known in ways.values() for rank, _ in known}):
        for table in tables:
            free = [name for at, name in ways[table] if at == rank and name not in taken]
            if free and table not in named:
                named[table] = free
                taken.update(free if len(free) == 1 else ())
    return named


def _plain(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_]", "_", name)


def _v1_slots(bundle: Bundle, variable: str, optimizer: str) -> dict[str, str]:
    """Return slot -> tensor: those with a usual name of the optimizer, or with one of its own those of their number."""
    names, slots = _V1.get(optimizer, ("", ()))
    every = slots_in_version_1(bundle, variable) if slots else {}
    numbers = {
        name: found for name, found in every.items() if re.fullmatch(names, name.rpartition("/")[2], re.IGNORECASE)
    } or {
        name: found
        for name, found in every.items()
        if len(found) == len(slots) and name.rpartition("/")[2] not in _USUAL.values()
    }
    if len(numbers) > 1:
        raise CheckpointError(
            f"{bundle.path} holds slots of several optimizers for `{variable}`, {', '.join(numbers)}: name the tensors "
            "in slots={…}"
        )
    return {slot: found[at] for found in numbers.values() for at, slot in enumerate(slots) if at in found}


def _owner(bundle: Bundle, name: str) -> str | None:
    """Return the variable of which a slot has this name before its own: without scopes, the longest that there is."""
    parts = name.split("/")
    return next((variable for at in range(len(parts)) if (variable := "/".join(parts[at:])) in bundle), None)


def _keras_slots(bundle: Bundle, variable: str, slots: tuple[str, ...]) -> dict[str, str]:
    names = full_names(bundle)
    full = {key: name for name, key in names.items()}.get(variable, "")
    return {
        slot: tensor
        for slot in slots
        if (tensor := next(iter(_spelled(bundle, names, variable, full, _SPELLINGS.get(slot, (slot,)))), None))
    }


def _spelled(
    bundle: Bundle, names: Mapping[str, str], variable: str, full: str, spellings: tuple[str, ...]
) -> Iterator[str]:
    """Yield the tensors that may be the slot, with one of these names, of a variable with the full name `full`."""
    shape, stem = bundle.shapes[variable], re.escape(variable.removesuffix(_VALUE))
    for slot in spellings:
        for tensor in bundle.shapes:
            if re.fullmatch(rf"{stem}/\.OPTIMIZER_SLOT/.+/{slot}{_VALUE}", tensor) and bundle.shapes[tensor] == shape:
                yield tensor
        flat = re.escape(full.replace("/", "_"))
        for name, tensor in names.items():
            if not full or bundle.shapes.get(tensor) != shape:
                continue
            if re.fullmatch(rf"[^/]+/{slot}/{re.escape(full)}|[^/]+/{flat}_{slot}", name):
                yield tensor
