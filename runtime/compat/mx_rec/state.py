"""State of the façade: settings of the process (`ConfigInitializer`), and data about one graph (`GraphState`)."""

from __future__ import annotations

import dataclasses
import logging
import weakref
from typing import Any, ClassVar

import tensorflow as tf

import runtime
from runtime import _validation, config
from runtime.compat import graph_modifier
from runtime.compat.mx_rec.constants import ASCEND_GLOBAL_HASHTABLE_COLLECTION, EVAL_CHANNEL_ID, TRAIN_CHANNEL_ID
from runtime.compat.mx_rec.embedding.pending_lookups import Joint, Standing
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.table.table import Table

_log = logging.getLogger("runtime")
#: Settings of the hardware, accepted without effect, and settings that the façade implements itself.
_OWN = (
    "use_lccl",
    "bind_cpu",
    "is_incremental_checkpoint",
    "save_checkpoint_due_time",
    "save_delta_checkpoints_secs",
    "restore_model_version",
    "recent_key_count_threshold",
)


@dataclasses.dataclass
class GraphState:
    """What was built in one graph."""

    #: Number of lookups of each table by (name, is_train).
    lookups: dict[tuple[str, bool], int] = dataclasses.field(default_factory=dict)
    #: The FeatureSpecs that the datasets of this graph send, by (table, is_train).
    specs: dict[tuple[str, bool], list[FeatureSpec]] = dataclasses.field(default_factory=dict)
    #: The rows of FeatureSpecs that were looked up, by (FeatureSpec, is_train).
    rows: dict[tuple[FeatureSpec, bool], tf.Tensor] = dataclasses.field(default_factory=dict)
    #: For each insertion number of a dataset: where each FeatureSpec's ids are in the element.
    places: dict[int, dict[tuple[FeatureSpec, bool], int]] = dataclasses.field(default_factory=dict)
    anchors: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    #: Lookups of tables that count ids, until they are merged.
    standing: list[Standing] = dataclasses.field(default_factory=list)
    #: The training lookups of tables with dynamic expansion, by table name.
    joint: dict[str, Joint] = dataclasses.field(default_factory=dict)
    #: The number of optimizers of each name.
    optimizers: dict[str, int] = dataclasses.field(default_factory=dict)
    #: Training ops, with the number of steps in one run, by the name of the op that represents them.
    loops: dict[str, tuple[Any, int]] = dataclasses.field(default_factory=dict)
    #: The table that counts ids for all tables, with `USE_COMBINE_FAAE`.
    counter: Table | None = None
    modify_graph: bool = False
    #: The modes whose lookups are merged, and the modes with a lookup that has a gradient.
    merged: set[bool] = dataclasses.field(default_factory=set)
    trained: set[bool] = dataclasses.field(default_factory=set)
    orphans_allowed: bool = False
    modified: bool = False
    started: bool = False
    initializers: dict[bool, tf.Operation] = dataclasses.field(default_factory=dict)
    #: The ops that make the iterators of the graph, each with the dataset and the iterator that it had.
    makers: list[tuple[tf.Operation, tf.Tensor, tf.Tensor]] = dataclasses.field(default_factory=list)

    def numbered(self, name: str) -> str:
        """Return `<name>_<n>`, where n counts the optimizers of this name in this graph; checkpoints use this name."""
        number = self.optimizers.get(name, 0)
        self.optimizers[name] = number + 1
        return f"{name}_{number}"


def state_of(graph: tf.Graph | None = None) -> GraphState:
    """Return the state of a graph, by default the current one; it lives as long as the graph."""
    graph = graph or tf.compat.v1.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    # An attribute instead of a weak dictionary, in which tensors in the values would keep their key, the graph, alive.
    state: GraphState | None = getattr(graph, "_recmigrate_mx_rec", None)
    if state is None:
        state = GraphState()
        graph._recmigrate_mx_rec = state
    return state


class TrainParamsConfig:
    """`ConfigInitializer.train_params_config`."""

    def __init__(self) -> None:
        """Start without any."""
        self._collection = ASCEND_GLOBAL_HASHTABLE_COLLECTION
        self.bool_gauge_set: set[str] = set()
        self.is_graph_modify_hook_running = False
        self.iterator_type = ""
        self.experimental_mode: Any = None
        self.sparse_dir = ""
        self._modified: weakref.ref[tf.Graph] | None = None

    def note_modified(self, graph: tf.Graph) -> None:
        """Make this graph the default for queries outside of any modified graph."""
        self._modified = weakref.ref(graph)

    def _graph(self) -> tf.Graph:
        """Return the current graph if it was modified, else the graph that was modified last."""
        current: tf.Graph = tf.compat.v1.get_default_graph()
        modified = None if self._modified is None else self._modified()
        state = state_of(current)
        return current if modified is None or state.lookups or state.initializers else modified

    @property
    def ascend_global_hashtable_collection(self) -> str:
        """The name of the collection of table variables."""
        return self._collection

    @ascend_global_hashtable_collection.setter
    def ascend_global_hashtable_collection(self, name: str) -> None:
        self._collection = _validation.text("name", name)

    def get_training_mode_channel_id(self, is_training: bool) -> int:
        """Return the number of the channel of a mode."""
        return TRAIN_CHANNEL_ID if _validation.boolean("is_training", is_training) else EVAL_CHANNEL_ID

    def get_initializer(self, is_training: bool) -> tf.Operation:
        """Return the op that initializes the iterator of the lookups of this mode.

        It belongs to the current graph, or, if that has no lookups, to the graph that was modified last.

        Raises:
            ValueError: `is_training` is not a bool, or there is no such op.
        """
        _validation.boolean("is_training", is_training)
        with self._graph().as_default():
            known = state_of().initializers.get(is_training)
            return graph_modifier.part("get_initializer")(is_training) if known is None else known

    def set_initializer(self, is_training: bool, initializer: tf.Operation) -> None:
        """Make `get_initializer` return another op."""
        state_of().initializers[_validation.boolean("is_training", is_training)] = initializer

    def get_target_batch(self, is_training: bool) -> Any:
        """Return the batch that the lookups of this mode read; None before the graph was modified."""
        _validation.boolean("is_training", is_training)
        with self._graph().as_default():
            return graph_modifier.part("get_target_batch")(is_training) if state_of().modified else None


class SparseEmbedConfig:
    """`ConfigInitializer.sparse_embed_config`: the tables, by name; of equal names the latest."""

    def __init__(self) -> None:
        """Start without any."""
        self._tables: weakref.WeakValueDictionary[str, Table] = weakref.WeakValueDictionary()
        #: All names so far, because the tables of a graph are removed with it.
        self.names: set[str] = set()

    @property
    def table_name_set(self) -> set[str]:
        """The names of all tables."""
        return set(self.names)

    def insert(self, table: Table) -> None:
        """Add a new table."""
        self.names.add(table.table_name)
        self._tables[table.table_name] = table

    def get_table_instance_by_name(self, name: str) -> Table:
        """Return the latest table with this name.

        Raises:
            KeyError: there is none.
        """
        if name not in self._tables:
            raise KeyError(f"there is no table {name!r}: the tables are {sorted(self._tables)}")
        return self._tables[name]

    def get_table_instance(self, variable: Any) -> Table:
        """Return the table of an anchor.

        Raises:
            KeyError: it is not an anchor.
        """
        table = getattr(variable, "table", None)
        if table is None:
            raise KeyError(f"{variable!r} is not a table's variable: use one of get_dense_and_sparse_variable()[1]")
        instance: Table = table
        return instance


@dataclasses.dataclass(eq=False)
class FeatureSpecConfig:
    """`ConfigInitializer.feature_spec_config`: all FeatureSpecs that a dataset sends, by name."""

    feature_spec_dict: dict[str, FeatureSpec] = dataclasses.field(default_factory=dict)
    table_name_to_feature_spec: dict[str, dict[bool, list[FeatureSpec]]] = dataclasses.field(default_factory=dict)

    def insert(self, spec: FeatureSpec, is_training: bool) -> None:
        """Record that a dataset sends the ids of a FeatureSpec."""
        self.feature_spec_dict[spec.name] = spec
        of_table = self.table_name_to_feature_spec.setdefault(spec.table_name, {True: [], False: []})
        if spec not in of_table[is_training]:
            of_table[is_training].append(spec)


@dataclasses.dataclass(eq=False)
class OptimizerConfig:
    """`ConfigInitializer.optimizer_config`: the latest sparse optimizer."""

    optimizer_instance: Any = None


@dataclasses.dataclass(eq=False)
class HybridManagerConfig:
    """`ConfigInitializer.hybrid_manager_config`: whether the pipeline runs, after which no new table can be created."""

    freeze: bool = False
    asc_manager: Any = None


class ConfigInitializer:
    """The settings of `init` and further state; there is one per process."""

    _instance: ClassVar[ConfigInitializer | None] = None
    _terminated: ClassVar[bool] = False

    def __init__(self, settings: config.Config) -> None:
        """Take checked settings; call `init` instead."""
        self.settings = settings
        self._if_load = settings.if_load
        for name in ("max_steps", "train_steps", "eval_steps", "save_steps", "use_lccl", "use_dynamic_expansion"):
            setattr(self, name, getattr(settings, name))
        self.use_static = not settings.use_dynamic
        self.use_dynamic_expansion = settings.use_dynamic_expansion
        self.is_incremental_checkpoint = settings.is_incremental_checkpoint
        self.save_checkpoint_due_time = settings.save_checkpoint_due_time
        self.save_delta_checkpoints_secs = settings.save_delta_checkpoints_secs
        self.restore_model_version = settings.restore_model_version
        self.modify_graph = False
        self.sparse_embed_config = SparseEmbedConfig()
        self.feature_spec_config = FeatureSpecConfig()
        self.hybrid_manager_config = HybridManagerConfig()
        self.optimizer_config = OptimizerConfig()
        self.train_params_config = TrainParamsConfig()

    @property
    def use_dynamic(self) -> bool:
        """Whether shapes of batches may vary."""
        return not self.use_static

    @property
    def if_load(self) -> bool:
        """Whether the program is going to restore a checkpoint."""
        return self._if_load

    @if_load.setter
    def if_load(self, value: bool) -> None:
        self._if_load = _validation.boolean("if_load", value)

    @property
    def host_pipeline_ops(self) -> Any:
        """The ops of `import_host_pipeline_ops()`."""
        from runtime.compat.mx_rec.graph.host_pipeline_ops import import_host_pipeline_ops

        return import_host_pipeline_ops()

    @staticmethod
    def get_instance() -> ConfigInitializer:
        """Return the settings.

        Raises:
            EnvironmentError: `init` was not called.
        """
        if ConfigInitializer._instance is None:
            raise OSError("Please init the environment for mx_rec at first.")
        return ConfigInitializer._instance


def init(*positional: Any, **kwargs: Any) -> None:
    """Configure the process, once; keywords are Rec SDK's, and unknown ones are ignored, as there.

    Positional values are those of older releases (`use_mpi`, …) and are ignored. A process that was started as one of
    several ranks is connected with the others by Horovod.

    Raises:
        RanksError: it cannot be connected; see `ranks.start`.
        ValueError: a value has a wrong type or range, all step counts are 0, or incremental checkpoints lack one of
            their periods.
        EnvironmentError: called twice.
    """
    if ConfigInitializer._instance is not None:
        raise OSError("init of mx_rec was called twice in this process: call it once")
    known = {field.name for field in dataclasses.fields(config.Config)}
    ignored = [repr(value) for value in positional] + sorted(set(kwargs) - known)
    if ignored:
        _log.info("init of mx_rec ignores %s", ", ".join(ignored))
    settings = config.checked({name: value for name, value in kwargs.items() if name in known})
    periods = (settings.save_checkpoint_due_time, settings.save_delta_checkpoints_secs)
    if settings.is_incremental_checkpoint and None in periods:
        raise ValueError(
            "is_incremental_checkpoint=True needs `save_checkpoint_due_time` and `save_delta_checkpoints_secs`: give "
            "the seconds between full checkpoints and between deltas"
        )
    rank_ids.start()
    if settings.is_incremental_checkpoint:
        rank_ids.refuse_several("init(is_incremental_checkpoint=True)", "save complete checkpoints by steps")
    runtime.init(**{key: value for key, value in dataclasses.asdict(settings).items() if key not in _OWN})
    ConfigInitializer._instance = ConfigInitializer(settings)


def terminate_config_initializer() -> None:
    """End the pipeline, so that new tables may be created; a second call, or one before `init`, only logs a warning."""
    instance = ConfigInitializer._instance
    if instance is None or ConfigInitializer._terminated:
        _log.warning("terminate_config_initializer has no effect: init was not called, or was already terminated")
        return
    instance.hybrid_manager_config.freeze = False
    ConfigInitializer._terminated = True
    runtime.terminate_config_initializer()


def forget() -> None:
    """Return to the state before `init`, for `uninstall`."""
    if ConfigInitializer._instance is not None and not ConfigInitializer._terminated:
        runtime.terminate_config_initializer()
    ConfigInitializer._instance, ConfigInitializer._terminated = None, False
