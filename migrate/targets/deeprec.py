"""DeepRec, a fork of TensorFlow 1.15: tables are EmbeddingVariables, used by stock lookups and optimizers."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.targets.base import CONSTANT, Effect, Follows, Function, Spelling, TableText, Target
from migrate.targets.layout import call, keywords
from migrate.targets.switches import Switches

PROTO = "tensorflow.core.framework.embedding"
FUNCTIONS = {
    "create_table": Function("get_embedding_variable"),
    "sparse_lookup": Function("nn.embedding_lookup", table="params"),
    "embedding_lookup_sparse": Function("nn.embedding_lookup_sparse", table="params"),
    "safe_embedding_lookup_sparse": Function("nn.safe_embedding_lookup_sparse", table="embedding_weights"),
    "config_pb2": Function("config_pb2", PROTO),
}
STORAGES = {"HBM": "HBM", "DDR": "DRAM", "SSD": "DRAM_SSDHASH"}
SSD_PATH = "embedding_storage"


def create(spelling: Spelling, table: TableText, lead: str) -> str:
    """Return the call that creates an EmbeddingVariable."""
    arguments = keywords(
        embedding_dim=table.dim, key_dtype=f"{spelling.tf}.int64", initializer=table.initializer
    ) + _ev_option(spelling, "" if CONSTANT.search(table.initializer) else table.rows)
    return call(spelling.function("create_table"), [table.name_text, *arguments], lead, spelling.newline)


def _ev_option(spelling: Spelling, rows: str) -> list[str]:
    """Return the argument with the options, if there are any."""
    options = ", ".join(_options(spelling, rows))
    return keywords(ev_option=f"{spelling.v1}.EmbeddingVariableOption({options})") if options else []


def _options(spelling: Spelling, rows: str) -> Iterator[str]:
    """Yield the arguments of the option object.

    New keys take their initial rows from a matrix, in turn. With the variable's number of rows, this is the variable's
    initial value.
    """
    v1, switches = spelling.v1, spelling.switches
    if rows:
        yield f"init_option={v1}.InitializerOption(default_value_dim={rows})"
    if switches.admission:
        yield f"filter_option={v1}.CounterFilter(filter_freq={switches.admission})"
    if switches.eviction:
        yield f"evict_option={v1}.GlobalStepEvict(steps_to_live={switches.eviction})"
    if switches.cache_mode:
        kind = f"storage_type={spelling.function('config_pb2')}.StorageType.{STORAGES[switches.cache_mode]}"
        path = f', storage_path="{SSD_PATH}"' if switches.cache_mode == "SSD" else ""
        yield f"storage_option={v1}.StorageOption({kind}{path})"


def _optimizers(switches: Switches) -> dict[str, Follows]:
    norm = "DeepRec's FTRL applies the L1 term to the norm of each row"
    known = {"adagrad": Follows(), "ftrl": Follows(norm)}
    if switches.cache_mode == "HBM":
        return known
    decay = "DeepRec's Adam updates only the rows of the batch; the moments of other rows do not decay"
    return known | {"gradient_descent": Follows(), "adam": Follows(decay)}


def _refuses(switches: Switches) -> Iterator[str]:
    if switches.multi_lookup:
        yield "an EmbeddingVariable may have any number of lookups; remove --multi-lookup"
    if switches.eviction and switches.unit == "seconds":
        yield "an EmbeddingVariable is evicted by global steps; write --eviction in steps, e.g. 5000steps"
    if switches.modify_graph:
        yield "DeepRec looks up ids in the graph and does not support --modify-graph; remove it"
    if switches.cache_mode == "HBM" and (switches.admission or switches.eviction):
        yield "DeepRec has no admission or eviction in HBM; remove them or --cache-mode"


def _effects(switches: Switches) -> Iterator[Effect]:
    if switches.admission:
        text = f"ids that were seen fewer than {switches.admission} times read zeros and are not trained (--admission)"
        yield Effect(text, changes_values=True)
    if switches.eviction:
        text = f"saving a checkpoint drops rows not trained for {switches.eviction} steps (--eviction)"
        yield Effect(text, changes_values=True, by_hand="pass a global_step to `minimize` or `apply_gradients`")
    if switches.cache_mode == "SSD":
        hand = "set `storage_size` if the default, 1 GiB of memory per table, does not hold the ids of a batch"
        yield Effect(f"rows that do not fit in memory are stored in files below `{SSD_PATH}`", by_hand=hand)
    if switches.dynamic_expansion:
        yield Effect("an EmbeddingVariable always grows: --dynamic-expansion has no effect")


def _device(switches: Switches) -> str:
    """Return the device whose operators have the storage; those of lookups and updates follow the variable."""
    return "/cpu:0" if switches.cache_mode in {"DDR", "SSD"} else ""


LACKS = {
    "looked_up_rows": "function for the rows of a batch",
    "Embedding": "Keras layer",
    "embedding_column": "embedding column",
    "shared_embedding_columns": "embedding column",
}
TARGET = Target(
    "deeprec",
    "DeepRec",
    FUNCTIONS,
    _optimizers,
    create,
    lacks=lambda _: LACKS,
    ids=("{tf}.cast(", ", {tf}.int64)"),
    splits=False,
    among_trainables=True,
    takes_is_train=False,
    reuses=False,
    device=_device,
    refuses=_refuses,
    effects=_effects,
)
