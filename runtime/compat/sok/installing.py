"""`install` makes `sparse_operation_kit` importable, and `horovod.tensorflow` if Horovod does not connect the ranks."""

from __future__ import annotations

import importlib.util
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat import absent
from runtime.compat.changes import Changes
from runtime.compat.settings import heeding
from runtime.compat.sok import horovod, layers, starting
from runtime.compat.sok.dumping import dump, load
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.increments import incremental_model_dump
from runtime.compat.sok.keras_adam import Adam
from runtime.compat.sok.layers import (
    All2AllDenseEmbedding,
    DistributedEmbedding,
    TFDistributedEmbedding,
    get_embedding,
)
from runtime.compat.sok.lookups import all2all_dense_embedding, lookup_sparse, sparse_read_and_evict
from runtime.compat.sok.loss_scaling import LossScaleOptimizer
from runtime.compat.sok.optimizers import SGD, LazyAdamOptimizer, OptimizerScope, OptimizerWrapper
from runtime.compat.sok.saver import Saver
from runtime.compat.sok.starting import Init, init
from runtime.compat.sok.static import DistributedVariable, LocalizedVariable, Variable
from runtime.compat.sok.surroundings import communication, profiling
from runtime.compat.sok.surroundings.gpus import stand_in
from runtime.compat.sok.variables import assign, export, filter_variables, split_embedding_variable_from_others
from runtime.ranks.process_group import started_for

_FACADE, _PACKAGE = "runtime.compat.sok", "sparse_operation_kit"
_changes = Changes(_FACADE)


def _by_name(*contents: Any) -> dict[str, Any]:
    return {one.__name__: one for one in contents}


_LAYERS = (DistributedEmbedding, All2AllDenseEmbedding, TFDistributedEmbedding, get_embedding)
_VARIABLES = (Variable, DistributedVariable, LocalizedVariable)
_FILES = (dump, load, incremental_model_dump)
_LOOKUPS = (lookup_sparse, all2all_dense_embedding, sparse_read_and_evict)
_SECOND = (
    *(init, filter_variables, DynamicVariable, assign, export, OptimizerWrapper, SGD),
    *(*_VARIABLES, *_LOOKUPS, *_FILES),
)
_FIRST = (Init, OptimizerScope, Saver, split_embedding_variable_from_others, *_LAYERS)
#: Modules of the package, with the names that programs import from them.
_MODULES: dict[str, tuple[Any, ...]] = {
    "": (*_FIRST, *_SECOND),
    # 1.x
    "core.initialize": (Init,),
    "core.context_scope": (OptimizerScope,),
    "embeddings.distributed_embedding": (DistributedEmbedding,),
    "embeddings.all2all_dense_embedding": (All2AllDenseEmbedding,),
    "embeddings.tf_distributed_embedding": (TFDistributedEmbedding,),
    "embeddings.get_embedding_op": (get_embedding,),
    "embeddings": _LAYERS,
    "optimizers": (Adam, LazyAdamOptimizer, split_embedding_variable_from_others),
    "optimizers.utils": (split_embedding_variable_from_others,),
    "saver.Saver": (Saver,),
    "tf.keras.optimizers": (Adam, LazyAdamOptimizer),
    "tf.keras.optimizers.adam": (Adam,),
    "tf.keras.optimizers.lazy_adam": (LazyAdamOptimizer,),
    "tf.keras.mixed_precision": (LossScaleOptimizer,),
    # 2.x, and its former name as an experiment
    "experiment": _SECOND,
    "distributed_variable": _VARIABLES,
    "dynamic_variable": (DynamicVariable, assign, export),
    "lookup": _LOOKUPS,
    "optimizer": (OptimizerWrapper, SGD),
    "dump_load": _FILES,
}
_TOP: dict[str, Any] = {
    "__version__": "2.1.0",
    # Programs use it to find out where Keras keeps its older optimizers.
    "tf_version": [int("".join(filter(str.isdigit, part)) or 0) for part in tf.__version__.split("-")[0].split(".")],
}
#: Modules with few functions that need nothing of this package.
_SMALL: dict[str, dict[str, Any]] = {
    "kit_lib": {"in_tensorflow2": lambda: True},
    "communication": communication.COMMUNICATION,
    "utils": communication.UTILS,
    "tf": {"unique": tf.unique},
}
CONTENTS = {
    name: {**contents, "__getattr__": absent.lacking(name, _FACADE, "use what docs/sok.md lists, or leave it out")}
    for name, contents in (
        *((".".join(filter(None, (_PACKAGE, module))), _by_name(*found)) for module, found in _MODULES.items()),
        *((f"{_PACKAGE}.{module}", found) for module, found in _SMALL.items()),
    )
}
CONTENTS[_PACKAGE] |= _TOP


@heeding("RECMIGRATE_SOK")
def install(legacy_optimizers: bool = False, gpus: bool = False) -> None:
    """Let programs written for SparseOperationKit run: make both its generations importable under its name.

    If Horovod is not installed, or something else connects the ranks (so that Horovod would see only one),
    `horovod.tensorflow` provides what such programs use of it, over `runtime.ranks`. TensorFlow is changed only by
    `sok.init(use_legacy_optimizer=True)`, as in SOK, and by these arguments.

    Args:
        legacy_optimizers: make `tf.keras.optimizers` the legacy ones at once, as they are before TensorFlow 2.11, for
            programs that do not call `sok.init`
        gpus: where there is none, list a GPU for each rank of this machine, for programs that take one by their rank's
            number; everything runs on the CPU
    """
    uninstall()
    with _changes.whole(uninstall) as changes:
        changes.add_modules(CONTENTS)
        others = {"local", "collectives"}
        if importlib.util.find_spec("horovod") is None or others & {ranks.current().name, started_for()}:
            changes.add_modules(horovod.MODULES)
        if importlib.util.find_spec("nvtx") is None:
            changes.add_modules({"nvtx": profiling.CONTENTS})
        if gpus:
            stand_in(changes)
        if legacy_optimizers:
            starting.use_legacy()


def uninstall() -> None:
    """Undo `install`, and discard the settings of `init`; connected ranks stay connected."""
    _changes.undo()
    starting.forget()
    layers.forget()
