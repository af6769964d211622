"""Option objects: each is replaced where it is created, so that code which chooses between them is unchanged."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import is_none, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.deeprec_symbols import ENUMS, OPTION, option_of
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

PARAMETERS = {
    "EmbeddingVariableOption": (
        "ht_type", "ht_partition_num", "evict_option", "ckpt", "filter_option", "storage_option", "init_option",
    ),
    "CheckpointOption": (
        "ckpt_to_load_from", "tensor_name_in_ckpt", "always_load_from_specific_ckpt", "init_data_source",
    ),
    "StorageOption": ("storage_type", "storage_path", "storage_size", "cache_strategy", "layout"),
    "InitializerOption": ("initializer", "default_value_dim", "default_value_no_permission"),
    "GlobalStepEvict": ("steps_to_live",),
    "L2WeightEvict": ("l2_weight_threshold",),
    "CounterFilter": ("filter_freq",),
    "CBFFilter": ("filter_freq", "max_element_size", "false_positive_probability", "counter_type"),
}  # fmt: skip
#: Objects whose arguments are only renamed: the runtime's class, its parameters, the names.
RENAMED = {
    "EmbeddingVariableOption": (
        "KeyRules",
        ("admission", "eviction", "storage", "initial", "counts", "notes_step", "warm_start"),
        {
            "evict_option": "eviction",
            "filter_option": "admission",
            "storage_option": "storage",
            "init_option": "initial",
            "ckpt": "warm_start",
        },
    ),
    "CheckpointOption": (
        "WarmStart",
        ("checkpoint", "name", "always"),
        {
            "ckpt_to_load_from": "checkpoint",
            "tensor_name_in_ckpt": "name",
            "always_load_from_specific_ckpt": "always",
        },
    ),
    "InitializerOption": (
        "InitialRows",
        ("initializer", "rows", "refused"),
        {"initializer": "initializer", "default_value_dim": "rows", "default_value_no_permission": "refused"},
    ),
    "GlobalStepEvict": ("Eviction", ("steps_to_live",), {"steps_to_live": "steps_to_live"}),
    "L2WeightEvict": ("Eviction", ("steps_to_live",), {"l2_weight_threshold": "least_norm"}),
    "CounterFilter": ("Admission", ("threshold",), {"filter_freq": "threshold"}),
}
#: DeepRec's storage types by their numbers.
TYPES = {
    0: "DEFAULT", 1: "DRAM", 2: "PMEM_MEMKIND", 3: "PMEM_LIBPMEM", 4: "SSDHASH", 5: "LEVELDB", 6: "HBM",
    11: "DRAM_PMEM", 12: "DRAM_SSDHASH", 13: "HBM_DRAM", 14: "DRAM_LEVELDB", 101: "DRAM_PMEM_SSDHASH",
    102: "HBM_DRAM_SSDHASH",
}  # fmt: skip
#: Further types in DeepRec's documentation.
PLANNED = {
    "HBM_DRAM_PMEM", "HBM_DRAM_LEVELDB", "HBM_DRAM_PMEM_LEVELDB", "HBM_DRAM_PMEM_SSDHASH", "DRAM_PMEM_LEVELDB",
}  # fmt: skip
#: How many sizes limit the tiers of each kind; the disk has no limit.
BOUNDED = {
    "dram_ssdhash": 1, "dram_leveldb": 1, "dram_pmem": 2, "dram_pmem_ssdhash": 2, "dram_pmem_leveldb": 2,
}  # fmt: skip
GIB = "1 << 30"
#: DeepRec's `default_value_dim` where one is given that is not greater than 0.
ROWS = 4096
BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 32, "int64": 32, "int32": 32}


def read_options(draft: Draft) -> None:
    """Replace every option object of the file."""
    for call, name in draft.file.names.calls:
        kind = option_of(name)
        if kind:
            _read(draft, call, kind)


def _read(draft: Draft, call: cst.Call, kind: str) -> None:
    given = draft.arguments(call, PARAMETERS[kind], OPTION)
    draft.done.append(call)  # also where it is blocked: its arguments get no further findings
    if given is None:
        return
    if kind in RENAMED:
        _rename(draft, call, kind, given)
    elif kind == "CBFFilter":
        _bloom(draft, call, given)
    else:
        _storage(draft, call, given)


def _rename(draft: Draft, call: cst.Call, kind: str, given: dict[str, cst.Arg]) -> None:
    function, order, renamed = RENAMED[kind]
    if not is_none(given.get("init_data_source")):
        draft.block(given["init_data_source"], OPTION, "initial-source")
    least = _number(draft, given.get("l2_weight_threshold"))
    if least is not None and least <= 0:  # evicts no row
        draft.write(call, function, [])
    elif kind == "CheckpointOption" and "ckpt_to_load_from" not in given:  # loads no row
        draft.write(call, function, ["checkpoint=None"])
    else:
        draft.exchange(call, function, given, renamed, order)
        _bounds(draft, given)
    draft.parts.append(_part(call, kind, function))


def _number(draft: Draft, given: cst.Arg | None) -> float | int | None:
    """Return the value of a numeric argument, as a literal or by a name that is assigned once."""
    return number(resolve(draft.tree, given.value)) if given is not None else None


def _bounds(draft: Draft, given: Mapping[str, cst.Arg]) -> None:
    """Convert numbers that may be 0 or less as DeepRec does: no threshold, and its default number of rows."""
    threshold, rows = given.get("l2_weight_threshold"), given.get("default_value_dim")
    if threshold is not None and _number(draft, threshold) is None:
        start, end = draft.tree.outer_span(threshold.value)
        draft.edits += [Edit(start, start, "max("), Edit(end, end, ", 0.0)")]  # no row's norm is below 0
    if rows is None:
        return
    count, text = _number(draft, rows), draft.tree.source(rows.value)
    span = draft.tree.outer_span(rows.value)
    if isinstance(count, int):
        draft.edits += [Edit(*span, str(ROWS))] if count <= 0 else []
    elif any(draft.tree.contains(rows.value, one) for one in draft.tree.calls):
        draft.block(rows, OPTION, "unknown-steps", text=text)
    else:
        draft.edits.append(Edit(*span, f"({text} if {text} > 0 else {ROWS})"))


def _part(call: cst.Call, kind: str, function: str, reason: str = "") -> Part:
    return Part(call, OPTION, "use", kind, f"`{kind}` becomes `{function}`", f"{function}(...)", reason)


def _bloom(draft: Draft, call: cst.Call, given: Mapping[str, cst.Arg]) -> None:
    """Convert a counting Bloom filter; without a probability DeepRec counts exactly."""
    texts = {name: draft.tree.source(arg.value) for name, arg in given.items() if not is_none(arg)}
    arguments = [f"threshold={texts['filter_freq']}"] if "filter_freq" in texts else []
    rate = given.get("false_positive_probability")
    reason = ""
    if rate is not None and number(rate.value) != -1:
        counter = draft.file.names.of(given["counter_type"].value) if "counter_type" in given else "uint64"
        if counter not in BITS:
            draft.block(given["counter_type"], OPTION, "counter-type")
            return
        reason = "counters stop at 2**32 - 1" if BITS[counter] == 32 and counter != "uint32" else ""
        fields = {
            "max_element_size": texts.get("max_element_size", "0"),
            "false_positive_probability": texts["false_positive_probability"],
            "counter_bits": str(BITS[counter]),
        }
        inner = ", ".join(f"{name}={text}" for name, text in fields.items())
        arguments.append(f"bloom={draft.function('CountingBloom')}({inner})")
    draft.write(call, "Admission", arguments)
    draft.parts.append(_part(call, "CBFFilter", "Admission", reason))


def _storage(draft: Draft, call: cst.Call, given: Mapping[str, cst.Arg]) -> None:
    kind = _kind(draft, call, given.get("storage_type"))
    policy = _policy(draft, given.get("cache_strategy"))
    if kind is None or policy is None:
        return
    tiered = kind in BOUNDED
    arguments = [f'"{kind}"']
    if tiered:
        if is_none(given.get("storage_path")):
            draft.block(call, OPTION, "no-folder", kind=kind)
            return
        arguments.append(f"path={draft.tree.source(given['storage_path'].value)}")
        sizes = _sizes(draft, given.get("storage_size"), BOUNDED[kind])
        arguments += [*([f"sizes={sizes}"] if sizes else []), *([f'policy="{policy}"'] if policy != "lfu" else [])]
        arguments.append("counts_values=True")
    draft.write(call, "Storage", arguments)
    name = _name(draft, given.get("storage_type"))
    reason = (
        "rows are kept in main memory: the runtime has no tier of persistent memory" if "PMEM_" in f"{name}_" else ""
    )
    draft.parts.append(_part(call, "StorageOption", "Storage", reason if not tiered else ""))


def _kind(draft: Draft, call: cst.Call, given: cst.Arg | None) -> str | None:
    """Return the runtime's kind of a storage type; None, and a blocker, where there is none."""
    name = _name(draft, given)
    if name is None:
        draft.block(given or call, OPTION, "unknown-storage")
        return None
    if name.startswith("HBM"):
        instead = name.removeprefix("HBM").removeprefix("_") or "DRAM"
        draft.block(given or call, OPTION, "storage-on-gpu", name=name, instead=instead)
        return None
    whole = {"SSDHASH": "dram_ssdhash", "LEVELDB": "dram_leveldb"}.get(name, name.lower())
    return whole if whole in BOUNDED else "dram"


def _name(draft: Draft, given: cst.Arg | None) -> str | None:
    """Return DeepRec's name of a storage type, None where it is not known."""
    if given is None or is_none(given):
        return "DEFAULT"
    found = draft.file.names.of(given.value) or ""
    if found.startswith(f"{ENUMS}StorageType."):
        last = found.rpartition(".")[2]
        return last if last in {*TYPES.values(), *PLANNED} else None
    value = number(given.value)
    return TYPES.get(value) if isinstance(value, int) else None


def _policy(draft: Draft, given: cst.Arg | None) -> str | None:
    if given is None or is_none(given):
        return "lfu"
    found = (draft.file.names.of(given.value) or "").rpartition(".")
    value = {"LRU": "lru", "LFU": "lfu"}.get(found[2]) if found[0].startswith(ENUMS) else None
    value = value or {"0": "lru", "1": "lfu"}.get(str(number(given.value)))
    if value is None:
        draft.block(given, OPTION, "unknown-cache")
    return value


def _sizes(draft: Draft, given: cst.Arg | None, count: int) -> str:
    """Return the sizes of the limited tiers: 1 GiB where none is given, as in DeepRec."""
    if given is None or is_none(given):
        return "" if count == 1 else f"[{', '.join([GIB] * count)}]"
    text = draft.tree.source(given.value)
    if not isinstance(given.value, cst.List) or any(not isinstance(e, cst.Element) for e in given.value.elements):
        if count > 1:
            return f"(({text}) + [{', '.join([GIB] * count)}])[:{count}]"
        plain = isinstance(given.value, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
        return f"{text if plain else f'({text})'}[:1]"
    if len(given.value.elements) == count:
        return text
    found = [draft.tree.source(element.value) for element in given.value.elements]
    return f"[{', '.join([*found, *[GIB] * count][:count])}]"
