"""Rec SDK (`mx_rec`), whose tables get their ids from the dataset, by graph modification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from migrate.targets.base import Effect, Follows, Function, Hook, Program, Spelling, TableText, Target, hash_optimizer
from migrate.targets.layout import call, keywords
from migrate.targets.switches import Switches

HOMES = {
    "mx_rec.core.embedding": ("create_table",),
    "mx_rec.core.feature_process": ("EvictHook",),
    "mx_rec.graph.merge_lookup": ("do_merge_lookup",),
    "mx_rec.graph.modifier": ("GraphModifierHook", "modify_graph_and_start_emb_cache"),
    "mx_rec.optimizers": (
        "adagrad",
        "adagrad_by_addr",
        "gradient_descent",
        "gradient_descent_by_addr",
        "lazy_adam",
        "lazy_adam_by_addr",
    ),
    "mx_rec.util.initialize": ("ConfigInitializer", "init", "terminate_config_initializer"),
    "mx_rec.util.variable": ("get_dense_and_sparse_variable",),
}
FUNCTIONS = {name: Function(name, module) for module, names in HOMES.items() for name in names} | {
    "sparse_lookup": Function("sparse_lookup", "mx_rec.core.embedding", "hashtable")
}
LACKS = {
    "embedding_lookup_sparse": "pooled lookup",
    "safe_embedding_lookup_sparse": "pooled lookup",
    "looked_up_rows": "function for the rows of a batch",
    "embedding_column": "embedding column",
    "shared_embedding_columns": "embedding column",
    "Embedding": "Keras layer",
}
#: Initializers that the host supports, where rows of some modes are created; others become normal(0, 1) there.
BY_HOST = re.compile(
    r"(zeros|ones|constant|random_normal|truncated_normal)_initializer"
    r"|keras\.initializers\.(Zeros|Ones|Constant|RandomNormal|TruncatedNormal)"
)
DECAY = "Rec SDK has only a lazy Adam: rows outside the batch are not updated, and their moments do not decay"
RATES = ("learning_rate", "initial_accumulator_value", "beta1", "beta2", "epsilon")


def create_table(spelling: Spelling, table: TableText, lead: str) -> str:
    """Return the call that creates a table."""
    arguments = keywords(
        key_dtype=f"{spelling.tf}.int64",
        dim=table.dim,
        name=table.name_text,
        emb_initializer=table.initializer,
        device_vocabulary_size=table.rows,
    )
    mode = spelling.switches.cache_mode
    arguments += keywords(host_vocabulary_size=table.rows) if mode in {"DDR", "SSD"} else []
    arguments += keywords(ssd_vocabulary_size=table.rows) if mode == "SSD" else []
    return call(spelling.function("create_table"), arguments, lead, spelling.newline)


def _optimizer(module: str, arguments: Sequence[tuple[str, str]]) -> str:
    """Return the call that creates a table optimizer; rates become floats, because the SDK rejects integers."""
    spelled = [(k, f"{v}.0" if k in RATES and v.isdecimal() else v) for k, v in arguments]
    if module.endswith("gradient_descent_by_addr"):
        rates = ", ".join(f"{name}={value}" for name, value in [*spelled, ("weight_decay", "0.0")])
        return f"{module}.create_hash_optimizer_by_addr({rates})"
    if module.endswith("_by_addr"):
        return hash_optimizer(module, spelled).replace("create_hash_optimizer(", "create_hash_optimizer_by_address(")
    return hash_optimizer(module, spelled)


def _optimizers(switches: Switches) -> dict[str, Follows]:
    if switches.dynamic_expansion:
        return {
            "adagrad": Follows("Rec SDK's Adagrad by address adds 1e-7 under the square root", "adagrad_by_addr"),
            "adam": Follows(DECAY, "lazy_adam_by_addr"),
            "gradient_descent": Follows("", "gradient_descent_by_addr"),
            "lazy_adam": Follows("", "lazy_adam_by_addr"),
        }
    known = {"adam": Follows(DECAY, "lazy_adam"), "gradient_descent": Follows(), "lazy_adam": Follows()}
    # Adagrad registers no slots, which are needed when rows move between device and host.
    return known if switches.cache_mode in {"DDR", "SSD"} else known | {"adagrad": Follows()}


def _arguments(spelling: Spelling, function: str) -> str:
    switches = spelling.switches
    entries = [f'"access_threshold": {switches.admission}'] if switches.admission else []
    entries += [f'"eviction_threshold": {switches.eviction}'] if switches.eviction else []
    return ", modify_graph=True" + (f", access_and_evict_config={{{', '.join(entries)}}}" if entries else "")


def _refuses(switches: Switches) -> Iterator[str]:
    if switches.dynamic_expansion and switches.cache_mode in {"DDR", "SSD"}:
        yield f"tables expand only in HBM; remove --dynamic-expansion or --cache-mode {switches.cache_mode}"
    if switches.eviction and switches.dynamic_expansion:
        yield "expanding tables cannot be evicted; remove --eviction or --dynamic-expansion"
    if switches.eviction and not switches.admission:
        yield "eviction needs admission; also give --admission N"
    if switches.eviction and switches.unit == "steps":
        yield "tables are evicted by time; write --eviction in seconds, e.g. 86400"


def _effects(switches: Switches) -> Iterator[Effect]:
    hand = "use NPUEstimator and NPURunConfig, or the session configuration of npu_bridge; if the loop ends before the"
    hand += " data, set max_steps, train_steps and eval_steps of `init`, and the first and last step of `eos_map`"
    yield Effect("Rec SDK runs on its own devices, for as many steps as `init` specifies", by_hand=hand)
    if switches.admission:
        text = f"ids that were seen fewer than {switches.admission} times read zeros and are not trained (--admission)"
        yield Effect(text, changes_values=True)
    if switches.eviction:
        text = f"rows that were not looked up for {switches.eviction} seconds are evicted (--eviction)"
        hand = 'the batch needs a scalar timestamp: tf.add_to_collection("ASCEND_TIMESTAMP", batch["timestamp"])'
        yield Effect(text, changes_values=True, by_hand=hand)
    if switches.cache_mode == "HBM":
        yield Effect("rows are stored in HBM by default: --cache-mode HBM has no effect")
    if switches.cache_mode in {"DDR", "SSD"}:
        hand = "device_vocabulary_size can be reduced to twice the number of distinct ids of a batch"
        yield Effect(f"rows are stored in {switches.cache_mode}, those of the batch on the device", by_hand=hand)
    if switches.modify_graph:
        yield Effect("ids are found by graph modification by default: --modify-graph has no effect")
    if switches.multi_lookup:
        yield Effect("`do_merge_lookup` merges all lookups of a table before gradients are computed")


def _hooks(switches: Switches) -> Iterator[Hook]:
    yield Hook("GraphModifierHook", modifies=True)
    if switches.eviction:
        yield Hook("EvictHook", f"evict_enable=True, evict_time_interval={switches.eviction}", trains=True)


def _begin(spelling: Spelling) -> list[str]:
    expands = ", use_dynamic_expansion=True" if spelling.switches.dynamic_expansion else ""
    return [f"{spelling.function('init')}(use_dynamic=True{expands})"]


TARGET = Target(
    "rec_sdk",
    "Rec SDK",
    FUNCTIONS,
    _optimizers,
    create_table,
    lacks=lambda _: LACKS,
    optimizer=_optimizer,
    arguments=_arguments,
    listed_ids=("{tf}.convert_to_tensor(", ")"),
    reuses=False,
    trains_alone=False,
    lists=None,
    initial_values=lambda s: BY_HOST if s.dynamic_expansion or s.cache_mode in {"DDR", "SSD"} else None,
    most_lookups=128,
    unseen="evaluation reads zeros for ids that training has not seen, not their initial rows",
    program=Program(_begin, "terminate_config_initializer", pipeline=True),
    refuses=_refuses,
    effects=_effects,
    hooks=_hooks,
)
