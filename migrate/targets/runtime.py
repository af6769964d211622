"""The runtime of this project, which supports everything that the front end plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from migrate.targets.base import Effect, Follows, Function, Hook, Spelling, TableText, Target
from migrate.targets.layout import call, keywords
from migrate.targets.switches import Switches

OPTIMIZERS = (
    "adadelta", "adagrad", "adam", "ftrl", "gradient_descent", "lazy_adam", "momentum", "proximal_adagrad", "rmsprop",
)  # fmt: skip
HOMES = {
    "rewriter": ("GraphModifierHook",),
    "runtime": (
        "Buckets",
        "EvictHook",
        "all_rows",
        "create_table",
        "get_dense_and_sparse_variable",
        "l1_norm",
        "l2_loss",
        "looked_up_rows",
        "naming_buckets",
        "penalty",
        "regularized",
        "scoped_initializer",
        "scoped_name",
        "set_rows",
        "table_of_rows",
        "tables",
        "unique_name",
        "wide_buckets",
        "zero_padded",
    ),
    "runtime.feature_column": ("embedding_column", "shared_embedding_columns"),
    "runtime.keras": ("Embedding", "IntegerLookup", "StringLookup"),
    "runtime.optimizers": OPTIMIZERS,
}
FUNCTIONS = {name: Function(name, module) for module, names in HOMES.items() for name in names} | {
    "padded_lookup": Function("padded_lookup", "runtime", "table"),
    "one_hot_lookup": Function("one_hot_lookup", "runtime", "table"),
    "sparse_lookup": Function("sparse_lookup", "runtime", "hashtable"),
    "embedding_lookup_sparse": Function("embedding_lookup_sparse", "runtime", "table"),
    "safe_embedding_lookup_sparse": Function("safe_embedding_lookup_sparse", "runtime", "table"),
}


def create_table(spelling: Spelling, table: TableText, lead: str) -> str:
    """Return the call that creates a table."""
    buckets = spelled(table.base_buckets, spelling.function)
    more = {"trainable": table.trainable, "in_place_of": table.place, "base_buckets": buckets}
    more = {name: text for name, text in more.items() if text}
    if table.matrix:
        filled = keywords(rows=table.matrix, name=_name(spelling, table), **more)
        return call(spelling.function("table_of_rows"), filled, lead, spelling.newline)
    arguments = keywords(
        key_dtype=f"{spelling.tf}.int64",
        dim=table.dim,
        name=_name(spelling, table),
        device_vocabulary_size=table.rows,
        emb_initializer=table.initializer or spelling.function("scoped_initializer") + "()",
        **more,
    )
    return call(spelling.function("create_table"), arguments, lead, spelling.newline)


def spelled(buckets: str, function: Callable[[str], str]) -> str:
    """Return the argument `base_buckets`, with the local name of the class that it may call."""
    return function("Buckets") + buckets.removeprefix("Buckets") if buckets.startswith("Buckets(") else buckets


def _name(spelling: Spelling, table: TableText) -> str:
    if table.numbered:
        return f"{spelling.function('unique_name')}({table.numbered})"
    return f"{spelling.function('scoped_name')}({table.scoped})" if table.scoped else table.name_text


def _optimizers(switches: Switches) -> dict[str, Follows]:
    return dict.fromkeys(OPTIMIZERS, Follows())


def _arguments(spelling: Spelling, function: str) -> str:
    """Return the arguments of a lookup for admission, eviction and the input pipeline."""
    switches, tf = spelling.switches, spelling.tf
    text = ", modify_graph=True" if switches.modify_graph else ""
    if function in {"sparse_lookup", "padded_lookup"} and (switches.admission or switches.eviction):
        entries = [f'"access_threshold": {switches.admission}']
        if switches.eviction:
            entries.append(f'"eviction_threshold": {switches.eviction}')
            entries.append(f'"timestamp": {tf}.cast({tf}.timestamp(), {tf}.int64)')
        text += f", access_and_evict_config={{{', '.join(entries)}}}"
    return text


def _lacks(switches: Switches) -> dict[str, str]:
    counting = "--admission" if switches.admission else "--eviction" if switches.eviction else ""
    lacking = {}
    if counting:
        lacking = {name: f"pooled lookup with {counting}" for name in FUNCTIONS if name.endswith("_lookup_sparse")}
        lacking |= dict.fromkeys(HOMES["runtime.feature_column"], f"embedding column with {counting}")
        lacking["l2_loss"] = f"term over all rows of a table with {counting}"
    if counting or switches.modify_graph:
        lacking["Embedding"] = f"Keras layer with {counting or '--modify-graph'}"
    if switches.modify_graph:
        lacking |= dict.fromkeys(HOMES["runtime.feature_column"], "embedding column with --modify-graph")
    return lacking


def _refuses(switches: Switches) -> Iterator[str]:
    if switches.multi_lookup:
        yield "a table of the runtime may have any number of lookups; remove --multi-lookup"
    if switches.cache_mode == "SSD":
        yield "tables of the runtime have no SSD tier (`ssd_vocabulary_size`) yet; remove --cache-mode"
    if switches.cache_mode == "HBM":
        yield "converted tables lie in host memory; remove --cache-mode, and give `create_table` its `device` by hand"
    if switches.eviction and switches.unit == "steps":
        yield "tables of the runtime are evicted by time; write --eviction in seconds, e.g. 86400"


def _effects(switches: Switches) -> Iterator[Effect]:
    if switches.admission > 1:
        text = f"ids that were seen fewer than {switches.admission} times read zeros and are not trained (--admission)"
        yield Effect(text, changes_values=True)
    if switches.eviction:
        text = f"rows that were not looked up for {switches.eviction} seconds are evicted (--eviction)"
        yield Effect(text, changes_values=True)
    if switches.dynamic_expansion:
        yield Effect("a table of the runtime always grows: --dynamic-expansion has no effect")
    if switches.cache_mode:
        yield Effect("a converted table of the runtime lies in host memory: --cache-mode DDR has no effect")


def _hooks(switches: Switches) -> Iterator[Hook]:
    if switches.modify_graph:
        yield Hook("GraphModifierHook")
    if switches.eviction:
        yield Hook("EvictHook", f"evict_enable=True, evict_time_interval={switches.eviction}", trains=True)


TARGET = Target(
    "runtime",
    "the runtime",
    FUNCTIONS,
    _optimizers,
    create_table,
    lacks=_lacks,
    arguments=_arguments,
    keeps_names=True,
    keeps_states=True,
    keeps_shapes=True,
    keeps_untrained=True,
    on_servers=True,
    refuses=_refuses,
    effects=_effects,
    hooks=_hooks,
)
