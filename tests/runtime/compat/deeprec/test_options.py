"""DeepRec's options and arguments have their effect, are refused, or stand in a table."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import absent, deeprec
from runtime.compat.deeprec import config_pb2
from runtime.compat.deeprec.config_pb2 import StorageType
from runtime.optimizers import deeprec as optimizers
from tests.support.runtime.ignored import ignored
from tests.support.runtime.unread import unread_of


def test_numbers_of_the_enums() -> None:
    assert dict(StorageType.items()) | {} == dict(zip(StorageType.keys(), StorageType.values(), strict=True))
    known = {"DRAM": 1, "SSDHASH": 4, "LEVELDB": 5, "HBM": 6, "DRAM_PMEM": 11, "DRAM_SSDHASH": 12, "HBM_DRAM": 13}
    known |= {"DRAM_LEVELDB": 14, "DRAM_PMEM_SSDHASH": 101, "HBM_DRAM_SSDHASH": 102, "DEFAULT": 0}
    for name, number in known.items():
        assert (getattr(StorageType, name), StorageType.Value(name), StorageType.Name(number)) == (number, number, name)
    assert (config_pb2.CacheStrategy.LRU, config_pb2.CacheStrategy.LFU) == (0, 1)
    assert (config_pb2.SlotType.EMBEDDING_VARIABLE, config_pb2.SlotType.VARIABLE) == (0, 1)
    assert (config_pb2.EmbeddingVariableType.IMMUTABLE, config_pb2.EmbeddingVariableType.MUTABLE) == (0, 1)
    with pytest.raises(AttributeError, match="has no value defined for name 'DRAM_SSD'"):
        _ = StorageType.DRAM_SSD
    with pytest.raises(ValueError, match="has no name defined for value 77"):
        StorageType.Name(77)
    with pytest.raises(ValueError, match="has no value defined for name 'NONE'"):
        StorageType.Value("NONE")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"storage_size": 512}, "storage_size should be list type"),
        ({"storage_size": [0]}, "must hold the bytes of each tier"),
        ({"storage_type": 55}, "is not a config_pb2.StorageType"),
        ({"storage_path": "x"}, "storage_type must not be None"),
        ({"cache_strategy": 9}, "is no config_pb2.CacheStrategy"),
        *(
            ({"storage_type": StorageType.Value(name)}, f"storage_path must not be None when storage_type is {name}")
            for name in ("LEVELDB", "SSDHASH", "DRAM_LEVELDB", "DRAM_SSDHASH", "HBM_DRAM_SSDHASH", "DRAM_PMEM_SSDHASH")
        ),
    ],
)
def test_storage_options_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deeprec.StorageOption(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"false_positive_probability": 0.0}, "false_positive_probability must larger than 0"),
        ({"false_positive_probability": 0.1}, "max_element_size must larger than 0"),
        ({"max_element_size": 5}, "max_element_size can't be set"),
        ({"counter_type": tf.float32}, "counter_type"),
    ],
)
def test_bloom_filters_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deeprec.CBFFilter(filter_freq=3, **settings)


def test_values_that_only_warn(caplog: pytest.LogCaptureFixture) -> None:
    assert deeprec.L2WeightEvict(-3.0).l2_weight_threshold == -1.0
    assert deeprec.InitializerOption(default_value_dim=0).default_value_dim == 4096
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert deeprec.CBFFilter(3, 10, 0.1, tf.uint8).counter_bits == 8


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedding_dim": 0}, "embedding_dim"),
        ({"key_dtype": tf.float32}, "key_dtype"),
        ({"value_dtype": tf.float64}, "value_dtype"),
        ({"regularizer": tf.nn.l2_loss}, "`regularizer`"),
        ({"constraint": tf.nn.relu}, "`constraint`"),
        ({"custom_getter": print}, "`custom_getter`"),
        ({"init_data_source": "x"}, "`init_data_source`"),
        ({"ev_option": 3}, "ev_option"),
        (
            {"ev_option": deeprec.EmbeddingVariableOption(ckpt=deeprec.CheckpointOption(init_data_source="x"))},
            "init_data_source",
        ),
        (
            {"steps_to_live": 3, "ev_option": deeprec.EmbeddingVariableOption(evict_option=deeprec.L2WeightEvict(0.1))},
            "steps_to_live and l2_weight_threshold",
        ),
        ({"partitioner": lambda shape, dtype: [1, 2]}, "can only split the keys"),
    ],
)
def test_variables_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deeprec.get_embedding_variable(**{"name": "user", "embedding_dim": 4, **settings})


def test_the_joint_mode_of_forward_and_backward_is_refused_or_told_of(
    graph: tf.Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    filtered = deeprec.EmbeddingVariableOption(filter_option=deeprec.CounterFilter(3))
    for value in ("0", "false"):
        monkeypatch.setenv("TF_EMBEDDING_FBJ_OPT", value)
        deeprec.get_embedding_variable(f"with_{value}", 4, ev_option=filtered)
    assert not caplog.records
    monkeypatch.setenv("TF_EMBEDDING_FBJ_OPT", "True")
    with pytest.raises(ValueError, match=r"TF_EMBEDDING_FBJ_OPT .* `user` .* unset it"):
        deeprec.get_embedding_variable("user", 4, ev_option=filtered)
    deeprec.get_embedding_variable("item", 4)
    assert ["TF_EMBEDDING_FBJ_OPT has no effect" in record.getMessage() for record in caplog.records] == [True]


def test_a_gpu_storage_is_in_memory_where_there_is_no_gpu(graph: tf.Graph, caplog: pytest.LogCaptureFixture) -> None:
    option = deeprec.EmbeddingVariableOption(storage_option=deeprec.StorageOption(StorageType.HBM_DRAM))
    deeprec.get_embedding_variable("user", 4, ev_option=option)
    assert [record.getMessage() for record in caplog.records] == [
        "storage type HBM_DRAM: there is no GPU, the rows of its HBM tier are in the host's memory"
    ]
    deeprec.install(hbm_as_dram=True)
    try:
        assert deeprec.get_embedding_variable("item", 4, ev_option=option).storage_type == StorageType.HBM_DRAM
    finally:
        deeprec.uninstall()


_PACKAGE = Path(deeprec.__file__).parent
_HELPERS = {"__init__", "__main__", "changes", "installing", "modules"}


def _modules() -> list[Any]:
    names = [found.name for found in pkgutil.walk_packages([str(_PACKAGE)], "runtime.compat.deeprec.")]
    public = [name for name in names if name.rpartition(".")[2] not in _HELPERS]
    return [importlib.import_module(name) for name in public] + [optimizers]


def _functions(module: Any) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Yield the name in DeepRec, the method's if it is one, and the definition of each public function."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, "", node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and (one.name in ("__init__", "__new__") or one.name[0] != "_"):
                    yield node.name, one.name, one


def _is_refusal(function: ast.FunctionDef) -> bool:
    """Whether it only raises."""
    returns = "" if function.returns is None else ast.unparse(function.returns)
    return isinstance(function.body[-1], ast.Raise) or "NoReturn" in returns


#: Methods that others call: TensorFlow's hooks and optimizers, protobuf's enums.
_CALLED = {"after_create_session", "after_run", "before_run", "restore", "table_form", "after_table", "minimize"}


def test_an_argument_that_is_read_nowhere_stands_on_the_page() -> None:
    found: dict[str, set[str]] = {}
    for module in _modules():
        for owner, method, function in _functions(module):
            if not _is_refusal(function) and method not in _CALLED and (unread := unread_of(function) - {"stock"}):
                found.setdefault(owner, set()).update(unread)
    stored = {"EmbeddingVariableOption": {"ht_type", "ht_partition_num"}, "StorageOption": {"layout"}}
    swapped = {"group_embedding_lookup_sparse": {"partition_strategy"}}  # read to see which order the arguments have
    for owner, arguments in (stored | swapped).items():
        found.setdefault(owner, set()).update(arguments)
    found.pop("MultiHashVariable", None)  # `blocknums` of `Composed.rows` is for the other kind
    assert found == ignored("deeprec.md", "Arguments and switches without effect")


def test_what_is_not_served_says_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"tensorflow\.contrib\.rnn is not supported .*: use its counterpart"):
        absent.lacking("tensorflow.contrib", "runtime.compat.deeprec")("rnn")
