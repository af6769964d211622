"""SparseOperationKit 2.x: tables are DynamicVariables, sharded over the processes of Horovod."""

from __future__ import annotations

import re
from collections.abc import Iterator

from migrate.targets.base import Effect, Follows, Function, LookupText, Program, Spelling, TableText, Target
from migrate.targets.layout import call, keywords
from migrate.targets.switches import Switches

NAMES = {
    "create_table": "DynamicVariable",
    "embedding_lookup_sparse": "lookup_sparse",
    "get_dense_and_sparse_variable": "filter_variables",
    "init": "init",
    "OptimizerWrapper": "OptimizerWrapper",
    "safe_embedding_lookup_sparse": "lookup_sparse",
    "sparse_lookup": "all2all_dense_embedding",
}
FUNCTIONS = {plan: Function(name, of="sok") for plan, name in NAMES.items()} | {
    "sok": Function("sok", "sparse_operation_kit", whole=True),
    "hvd": Function("hvd", "horovod.tensorflow", whole=True),
}
LACKS = {
    "looked_up_rows": "function for the rows of a batch",
    "embedding_column": "embedding column",
    "shared_embedding_columns": "embedding column",
    "Embedding": "Keras layer of this kind",
}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
CONSTANT = re.compile(rf"\b(?:(zeros|ones)_initializer\(\)|constant_initializer\((?:value=)?({NUMBER})\))$")
KINDS = {"HBM": "hbm", "DDR": "hybrid"}
#: They ask each variable of the graph whether it is initialized, which a DynamicVariable answers by an error, or save
#: its value, which is that of the last batch: the rows lie in a hash table.
WHOLE_READERS = frozenset({
    "train.MonitoredTrainingSession", "train.MonitoredSession", "train.SingularMonitoredSession", "train.Supervisor",
    "estimator.Estimator", "estimator.EstimatorSpec", "report_uninitialized_variables", "train.Saver",
})  # fmt: skip


def create(spelling: Spelling, table: TableText, lead: str) -> str:
    """Return the call that creates a DynamicVariable, whose initializer is a kind or a constant as a string.

    Where only the run knows the initializer, a function of the file, `initializer_text`, says which.
    """
    arguments = keywords(
        dimension=table.dim,
        initializer=f"initializer_text({table.initializer})" if table.called else f'"{_kind(table.initializer)}"',
        name=table.name_text,
        key_type=f"{spelling.tf}.int64",
        dtype=f"{spelling.tf}.float32",
    )
    mode = spelling.switches.cache_mode
    arguments += keywords(var_type=f'"{KINDS[mode]}"') if mode else []
    return call(spelling.function("create_table"), arguments, lead, spelling.newline)


def _kind(initializer: str) -> str:
    matched = CONSTANT.search(initializer)
    kind = "uniform" if "uniform" in initializer else "normal"
    return kind if matched is None else matched[2] or {"zeros": "0.0", "ones": "1.0"}[matched[1]]


def _lookup(spelling: Spelling, lookup: LookupText) -> str:
    """Return a lookup; dense ids are flattened, because the SDK takes a vector, and the rows reshaped."""
    tf, function = spelling.tf, spelling.function(lookup.function)
    if lookup.function == "sparse_lookup":
        rows = f"{function}({lookup.table}, {tf}.reshape({lookup.keys}, [-1]))"
        return f"{tf}.reshape({rows}, {tf}.concat([{tf}.shape({lookup.ids}), [{lookup.dim}]], 0))"
    if lookup.matrix:  # a RaggedTensor, because `lookup_sparse` needs SparseTensors that are packed to the left
        rows = f"{lookup.matrix}.indices[:, 0], {lookup.matrix}.dense_shape[0]"
        keys, weights = (
            f"{tf}.RaggedTensor.from_value_rowids({lookup.matrix}.{values}, {rows})"
            for values in ("indices[:, 1]", "values")
        )
        return f'{function}({lookup.table}, {keys}, sp_weights={weights}, combiners="sum")'
    weights = f", sp_weights={lookup.weights}" if lookup.weights else ""
    combiner = f", combiners={lookup.combiner}" if lookup.combiner else ""
    return f"{function}({lookup.table}, {lookup.keys}{weights}{combiner})"


def _optimizers(switches: Switches) -> dict[str, Follows]:
    decay = "OptimizerWrapper applies Adam only to the rows of the batch; the moments of other rows do not decay"
    return {"adagrad": Follows(), "adam": Follows(decay), "gradient_descent": Follows()}


def _variables(spelling: Spelling, dense: str, sparse: str) -> str:
    function = spelling.function("get_dense_and_sparse_variable")
    return f"{sparse}, {dense} = {function}({spelling.v1}.trainable_variables())"


def _lists(spelling: Spelling, dense: str, sparse: str, listed: str) -> str:
    return f"{sparse}, {dense} = {spelling.function('get_dense_and_sparse_variable')}({listed})"


def _refuses(switches: Switches) -> Iterator[str]:
    if switches.multi_lookup:
        yield "a DynamicVariable may have any number of lookups; remove --multi-lookup"
    if switches.cache_mode == "SSD":
        yield "SparseOperationKit has no SSD tier; write --cache-mode HBM or DDR"
    if switches.admission:
        yield "SparseOperationKit cannot admit ids by occurrences; remove --admission"
    if switches.eviction:
        yield "SparseOperationKit evicts rows of full tables, not by age; remove --eviction"
    if switches.modify_graph:
        yield "SparseOperationKit looks up ids in the graph and does not support --modify-graph; remove it"


def _effects(switches: Switches) -> Iterator[Effect]:
    hand = "assign one GPU to each process; with several, average dense gradients with hvd.DistributedOptimizer"
    yield Effect("SparseOperationKit runs on GPUs, one per process of Horovod", by_hand=hand)
    if switches.cache_mode != "HBM":
        yield Effect("a table with more than 64 Mi rows drops rows: see `max_capacity` of DynamicVariable")
    if switches.dynamic_expansion:
        yield Effect("a DynamicVariable always grows: --dynamic-expansion has no effect")


def _begin(spelling: Spelling) -> list[str]:
    return [f"{spelling.function('hvd')}.init()", f"{spelling.function('init')}()"]


TARGET = Target(
    "sok",
    "SparseOperationKit",
    FUNCTIONS,
    _optimizers,
    create,
    lacks=lambda _: LACKS,
    lookup=_lookup,
    wrapper="OptimizerWrapper",
    variables=_variables,
    lists=_lists,
    ids=("{tf}.cast(", ", {tf}.int64)"),
    whole_readers=WHOLE_READERS,
    computes_gradients=False,
    among_trainables=True,
    takes_is_train=False,
    reuses=False,
    trains_alone=False,
    other_values=lambda initializer: not CONSTANT.search(initializer),
    program=Program(_begin),
    refuses=_refuses,
    effects=_effects,
)
