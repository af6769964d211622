"""What Rec SDK's functions refuse, and with which errors: types are what scripts and tests of theirs depend on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec
from runtime.compat.mx_rec.state import state_of

v1 = tf.compat.v1


@pytest.fixture
def sdk() -> Iterator[Any]:
    """Rec SDK's names by their last part, installed, in a fresh graph."""
    mx_rec.install()
    try:
        names: dict[str, Any] = {}
        for module in list(sys.modules.values()):
            if module.__name__.startswith(("mx_rec.", "rec_sdk_common.")):
                names |= {key: value for key, value in vars(module).items() if not key.startswith("__")}
        with tf.Graph().as_default():
            yield SimpleNamespace(**names)
    finally:
        mx_rec.uninstall()


def table(sdk: Any, name: str = "user", **given: Any) -> Any:
    settings: dict[str, Any] = {"key_dtype": tf.int64, "dim": 4, "emb_initializer": v1.zeros_initializer()}
    return sdk.create_table(**{**settings, "name": name, **given})


def test_a_name_that_the_facade_lacks_is_one_sentence(sdk: Any) -> None:
    for name in ("mx_rec.util.initialize", "mx_rec.constants.constants"):
        with pytest.raises(AttributeError, match=rf"{name}.nonsense is not supported by runtime.compat.mx_rec: docs/"):
            _ = sys.modules[name].nonsense


def test_the_settings_of_a_process(sdk: Any) -> None:
    sdk.terminate_config_initializer()  # only warns
    with pytest.raises(EnvironmentError, match="Please init the environment for mx_rec at first"):
        sdk.ConfigInitializer.get_instance()
    for wrong, message in (
        ({"train_steps": "5"}, "Invalid parameter type of para"),
        ({"train_steps": -2}, "is less than"),
        ({"save_steps": 2**31}, "is bigger than"),
        ({"use_dynamic": 1}, "Invalid parameter type of para"),
        ({"max_steps": 0, "train_steps": 0, "eval_steps": 0}, "all 0"),
        ({"is_incremental_checkpoint": True, "save_checkpoint_due_time": 3}, "save_delta_checkpoints_secs"),
    ):
        with pytest.raises(ValueError, match=message):
            sdk.init(**wrong)
    sdk.init(True, train_steps=5, eval_steps=2, use_hot=True, rank_id=0, use_dynamic=False, use_lccl=True)
    with pytest.raises(EnvironmentError, match="twice"):
        sdk.init()
    instance = sdk.ConfigInitializer.get_instance()
    assert (instance.train_steps, instance.use_static, instance.use_dynamic_expansion) == (5, True, False)
    assert sdk.get_use_dynamic_expansion() is False
    sdk.set_if_load(True)
    assert instance.if_load is True
    with pytest.raises(ValueError):
        instance.if_load = 1
    instance.train_params_config.ascend_global_hashtable_collection = "TABLES"
    made = table(sdk)
    assert sdk.get_dense_and_sparse_variable() == ([], [made.variable])
    assert v1.get_collection("TABLES") == [made.variable]
    assert made.variable.op.name == "user"
    assert not made.variable.trainable
    assert instance.sparse_embed_config.get_table_instance(made.variable) is made
    for unknown in (instance.sparse_embed_config.get_table_instance_by_name, made.get_anchor_attribute):
        with pytest.raises((KeyError, TypeError)):
            unknown("item", *[None] * (unknown is made.get_anchor_attribute))
    sdk.terminate_config_initializer()
    sdk.terminate_config_initializer()
    with pytest.raises(EnvironmentError, match="twice"):
        sdk.init()


def test_tables(sdk: Any) -> None:
    with pytest.raises(EnvironmentError):
        table(sdk)
    sdk.init(use_dynamic=True)
    for wrong in (
        {"key_dtype": tf.float32},
        {"dim": 0},
        {"dim": 8193},
        {"dim": "4"},
        {"dim": tf.TensorShape([2, 2])},
        {"name": ""},
        {"name": 3},
        {"name": "名"},
        {"emb_initializer": v1.zeros_initializer},
        {"emb_initializer": 0.1},
        {"device_vocabulary_size": 0},
        {"device_vocabulary_size": 10**9 + 1},
        {"ssd_vocabulary_size": 5},
        {"ssd_data_path": "/tmp"},
        {"init_param": 11.0},
        {"init_param": 1},
        {"is_dp": 1},
        {"all2all_gradients_op": "mean"},
        {"padding_keys": [0]},
        {"padding_keys": [0], "padding_keys_mask": True},
        {"padding_keys_mask": True},
        {"value_dtype": tf.float16},
        {"shard_num": 0},
    ):
        with pytest.raises(ValueError):
            table(sdk, **wrong)
    with pytest.raises(RuntimeError, match="enable_merge"):
        table(sdk, enable_merge=True)
    with pytest.raises(TypeError, match="no_such"):
        table(sdk, no_such=1)
    user = table(sdk, "us.er", optimizer_list=[], device_vocabulary_size=16)
    assert (user.table_name, user.capacity(), user.slice_device_vocabulary_size) == ("user", 16, 16)
    assert (user.is_save, user.init_param, user.send_count, user.is_hbm, user.is_dp) == (True, 1.0, 0, True, False)
    assert (user.embedding_size, user.emb_size, user.ext_emb_size) == (tf.TensorShape([4]), 4, 4)
    assert type(user) is sdk.HBMSparseEmbedding
    host = table(sdk, "host", host_vocabulary_size=16, is_dp=True, device_vocabulary_size=8)
    assert type(host) is sdk.ExternalStorageSparseEmbedding
    assert (host.is_hbm, host.capacity(), host.slice_host_vocabulary_size) == (False, 16, 16)
    sdk.create_hash_optimizer(learning_rate=0.1)
    assert host.ext_emb_size == 4 * (
        1 + len(sdk.ConfigInitializer.get_instance().optimizer_config.optimizer_instance.starts)
    )
    with pytest.raises(ValueError, match="user"):
        table(sdk)
    with pytest.raises(ValueError, match="only some tables have rows on the host"):
        sdk.start_asc_pipeline()


def test_tables_that_expand(sdk: Any) -> None:
    sdk.init(use_dynamic_expansion=True)
    # `capacity` is counted by name in all sessions of the process, of which earlier tests may have left some.
    found = table(sdk, "expanding", host_vocabulary_size=5, device_vocabulary_size=100)
    assert (type(found), found.capacity()) == (sdk.HBMDynamicSparseEmbedding, 0)
    assert type(table(sdk, "item", enable_merge=True)) is sdk.MergeableSparseEmbedding
    with pytest.raises(ValueError, match="mergeable_table_"):
        table(sdk, "mergeable_table_0", enable_merge=True)
    from mx_rec.optimizers import lazy_adam

    with pytest.raises(ValueError, match="The dynamic expansion mode is not compatible with the optimizer"):
        lazy_adam.create_hash_optimizer()


def test_the_order_of_calls(sdk: Any) -> None:
    sdk.init(use_dynamic=True)
    with pytest.raises(RuntimeError, match="no table"):
        sdk.start_asc_pipeline()
    user, ids = table(sdk), tf.constant([[1, 2]], tf.int64)
    sdk.start_asc_pipeline()
    sdk.start_asc_pipeline()
    with pytest.raises(EnvironmentError, match="`item`"):
        table(sdk, "item")
    with pytest.raises(RuntimeError, match="after the pipeline was started"):
        sdk.sparse_lookup(user, ids, modify_graph=True)
    sdk.sparse_lookup(user, ids, is_train=False, modify_graph=True)
    with tf.Graph().as_default():  # as an Estimator does for evaluation
        again = table(sdk)
        sdk.sparse_lookup(again, tf.constant([[1]], tf.int64), modify_graph=True)
        with pytest.raises(EnvironmentError):
            table(sdk, "item")
    sdk.terminate_config_initializer()
    assert table(sdk, "item").table_name == "item"


def test_specifications(sdk: Any) -> None:
    for wrong in (
        {"name": 5},
        {"name": "x" * 256},
        {"table_name": ""},
        {"index_key": -1},
        {"index_key": 256},
        {"index_key": 0.5},
        {"access_threshold": -2},
        {"access_threshold": "1"},
        {"eviction_threshold": 5},
        {"is_timestamp": 1},
        {"batch_size": 0},
        {"faae_coefficient": 0},
    ):
        with pytest.raises(ValueError):
            sdk.FeatureSpec(**{"name": "ids", **wrong})
    first, second = (sdk.FeatureSpec("ids.1", index_key=0, feat_count=3) for _ in range(2))
    assert first.name != second.name
    assert (first.name.startswith("ids.1_"), first.table_name, first.index_key) == (True, "ids1", 0)
    with pytest.raises(TypeError, match="no_such"):
        sdk.FeatureSpec("ids", no_such=1)


def test_the_insertion(sdk: Any) -> None:
    with pytest.raises(EnvironmentError):
        sdk.get_asc_insert_func(tgt_key_specs=sdk.FeatureSpec("ids"))
    sdk.init()
    spec = sdk.FeatureSpec("ids")
    for wrong in (
        {},
        {"tgt_key_specs": spec, "args_index_list": [0], "table_names": ["user"]},
        {"tgt_key_specs": []},
        {"tgt_key_specs": [[spec]]},
        {"tgt_key_specs": "ids"},
        {"args_index_list": [], "table_names": ["user"]},
        {"args_index_list": [0], "table_names": []},
        {"args_index_list": ["0"], "table_names": ["user"]},
        {"tgt_key_specs": spec, "is_training": 1},
    ):
        with pytest.raises(ValueError):
            sdk.get_asc_insert_func(**wrong)
    with pytest.raises(RuntimeError):
        sdk.get_asc_insert_func(args_index_list=[0])

    def sent(batch: Any, index_key: Any = 0, **settings: Any) -> Any:
        made = sdk.FeatureSpec("ids", index_key=index_key, **settings)
        dataset = tf.data.Dataset.from_tensors(batch).map(sdk.get_asc_insert_func(tgt_key_specs=[made]))
        return v1.data.get_output_shapes(dataset)

    one, scalar = np.zeros([2, 3], np.int64), tf.TensorShape([])
    shape = tf.TensorShape([2, 3])
    assert sent({"a": one, "b": one}, "a") == {"a": shape, "b": shape, "b_read_emb_key": scalar}
    assert sent(one) == (shape, scalar)
    assert sent((one, one)) == ((shape, scalar), shape)
    assert sent(((one, one), one), 1) == ((shape, shape, scalar), shape)
    assert sent((one, one, one)) == (shape, shape, shape, (scalar,))
    places = sdk.get_asc_insert_func(args_index_list=[1], table_names=["user"])
    assert v1.data.get_output_shapes(tf.data.Dataset.from_tensors((one, one)).map(places)) == (shape, shape, scalar)
    for error, batch, settings in (
        (EnvironmentError, ({"a": one}, one), {"index_key": "a"}),
        (ValueError, (one, one, one), {"index_key": 3}),
        (ValueError, (one, one, one), {"index_key": "ids"}),
        (KeyError, {"a": one}, {"index_key": "time", "is_timestamp": True}),
        (ValueError, {"time": one}, {"index_key": "time", "is_timestamp": True}),
        (ValueError, {"a": np.int64(3)}, {"index_key": "a"}),
    ):
        with pytest.raises(error):
            sent(batch, **settings)


def test_lookups(sdk: Any) -> None:
    sdk.init(use_dynamic=False)
    user, ids = table(sdk), tf.constant([[1, 2]], tf.int64)
    other, spec = sdk.FeatureSpec("ids", table_name="item"), sdk.FeatureSpec("ids", table_name="user")
    for arguments, settings in (
        ((user.variable, ids), {"modify_graph": True}),
        ((user, [1, 2]), {"modify_graph": True}),
        ((user, ids, 5), {}),
        ((user, ids), {"modify_graph": True}),
        ((user, ids, 0), {"modify_graph": True}),
        ((user, ids, 5), {"modify_graph": True, "is_train": 1}),
        ((user, ids, 5), {"modify_graph": True, "serving_default_value": 2.0}),
        ((user, ids, 5), {"modify_graph": True, "batch": [ids]}),
        ((user, other, 5), {}),
    ):
        with pytest.raises(ValueError):
            sdk.sparse_lookup(*arguments, **settings)
    with pytest.raises(RuntimeError, match="not sent by any dataset"):
        sdk.sparse_lookup(user, spec, 5)
    dataset = tf.data.Dataset.from_tensors({"ids": np.zeros([2, 3], np.int64)})
    dataset = dataset.map(sdk.get_asc_insert_func(tgt_key_specs=spec))
    with pytest.raises(RuntimeError, match="is not sent for is_train=False"):
        sdk.sparse_lookup(user, spec, 5, is_train=False)
    with pytest.raises(RuntimeError, match="no iterator"):
        sdk.sparse_lookup(user, spec, 5)
    batch = v1.data.make_one_shot_iterator(dataset.repeat().prefetch(1)).get_next()
    rows = sdk.sparse_lookup(user, spec, 5)
    assert rows.shape == [2, 3, 4]
    assert sdk.sparse_lookup(user, spec, 5) is rows
    assert rows.op.name.startswith("user//")
    with pytest.raises(KeyError, match="ids"):
        sdk.sparse_lookup(table(sdk, "item"), other_sent(sdk, other), 5, batch={})
    assert sdk.sparse_lookup(user, batch["ids"], 5, is_train=False, modify_graph=True).shape == [2, 3, 4]
    (anchor,) = v1.get_collection("ASCEND_SPARSE_LOOKUP_ENTRANCE")
    assert user.get_anchor_attribute(anchor, sdk.ASCAnchorAttr.IS_TRAINING) is False
    for error, arguments in (
        (TypeError, ("ids", sdk.ASCAnchorAttr.IS_TRAINING)),
        (ValueError, (anchor, "is_training")),
        (KeyError, (rows, sdk.ASCAnchorAttr.IS_TRAINING)),
        (KeyError, (anchor, sdk.ASCAnchorAttr.HOT_POS)),
    ):
        with pytest.raises(error):
            user.get_anchor_attribute(*arguments)
    host = table(sdk, "host", host_vocabulary_size=16, device_vocabulary_size=8)
    with pytest.raises(ValueError, match="device_vocabulary_size"):
        sdk.sparse_lookup(host, batch["ids"], 9, modify_graph=True)
    assert user.multi_lookup_times == {True: 2, False: 1}


def other_sent(sdk: Any, spec: Any) -> Any:
    """Return the specification once a dataset sends it."""
    tf.data.Dataset.from_tensors({"ids": np.zeros([2], np.int64)}).map(sdk.get_asc_insert_func(tgt_key_specs=[spec]))
    return spec


def test_most_lookups_of_a_table(sdk: Any) -> None:
    sdk.init()
    user, ids = table(sdk), tf.constant([1], tf.int64)
    state_of().lookups["user", False] = 127
    sdk.sparse_lookup(user, ids, is_train=False, modify_graph=True)
    with pytest.raises(RuntimeError, match="128"):
        sdk.sparse_lookup(user, ids, is_train=False, modify_graph=True)


def test_optimizers(sdk: Any) -> None:
    from mx_rec import optimizers

    sdk.init()
    for module, wrong in (
        ("lazy_adam", {"learning_rate": 1}),
        ("lazy_adam", {"learning_rate": 10.5}),
        ("lazy_adam", {"beta1": 0.0}),
        ("lazy_adam", {"beta1": 1.0}),
        ("lazy_adam", {"beta2": 1.5}),
        ("lazy_adam", {"epsilon": 0.0}),
        ("lazy_adam", {"name": ""}),
        ("adagrad", {"initial_accumulator_value": 0.0}),
        ("adagrad", {"initial_accumulator_value": 1}),
        ("ftrl", {"learning_rate": 0.1, "learning_rate_power": 0.5}),
        ("ftrl", {"learning_rate": 0.1, "l1_regularization_strength": -0.1}),
        ("gradient_descent", {"learning_rate": 0.1, "weight_decay": 1.0}),
    ):
        with pytest.raises(ValueError):
            getattr(optimizers, module).create_hash_optimizer(**wrong)
    first, second = (optimizers.lazy_adam.create_hash_optimizer(tf.constant(0.1)) for _ in range(2))
    assert (first.get_name(), second.get_name()) == ("LazyAdam_0", "LazyAdam_1")
    assert sdk.ConfigInitializer.get_instance().optimizer_config.optimizer_instance is second
    for module in ("lazy_adam_by_addr", "adagrad_by_addr", "gradient_descent_by_addr"):
        for name in ("create_hash_optimizer_by_address", "create_hash_optimizer_by_addr"):
            with pytest.raises(ValueError, match="The dynamic expansion mode is not compatible with the optimizer"):
                getattr(getattr(optimizers, module), name)(learning_rate=0.1)


def test_ranks(sdk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "SIZE", "LOCAL_SIZE"):
        monkeypatch.delenv(f"OMPI_COMM_WORLD_{name}", raising=False)
    assert (sdk.get_rank_id(), sdk.get_rank_size(), sdk.get_local_rank_size(), sdk.get_device_id()) == (0, 1, 1, 0)
    sdk.init()
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "5")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "8")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4")
    assert (sdk.get_rank_id(), sdk.get_rank_size(), sdk.get_local_rank_size(), sdk.get_device_id()) == (5, 8, 4, 1)
    made = table(sdk, device_vocabulary_size=17)
    assert (made.rank_size, made.slice_device_vocabulary_size) == (8, 3)
    for name, wrong in (("RANK", "x"), ("RANK", "-1"), ("SIZE", "0")):
        monkeypatch.setenv(f"OMPI_COMM_WORLD_{name}", wrong)
        with pytest.raises(ValueError, match=name):
            sdk.get_rank_id() if name == "RANK" else sdk.get_rank_size()


def _installed_state() -> tuple[Any, ...]:
    watched: list[Any] = [
        v1.saved_model.Builder,
        v1.Session,
        v1.train.Optimizer,
        v1.train.ChiefSessionCreator,
        tf.data.Dataset,
        v1.train.Saver,
        v1.train,
    ]
    seen = [{name: id(value) for name, value in vars(owner).items()} for owner in watched]
    return seen, {name: id(module) for name, module in sys.modules.items() if not name.startswith("rewriter")}


@pytest.mark.parametrize("run", [lambda: None, mx_rec.install], ids=["once", "twice"])
def test_afterwards_all_is_as_before(run: Callable[[], None]) -> None:
    mx_rec.install()  # imports what it needs
    mx_rec.uninstall()
    before = _installed_state()
    mx_rec.install()
    run()
    assert _installed_state() != before
    assert hasattr(tf.data.Dataset, "eos_map")
    import mx_rec.util as util  # type: ignore[import-not-found]

    assert util.communication.hccl_ops.get_rank_size() == 1
    mx_rec.uninstall()
    mx_rec.uninstall()
    assert _installed_state() == before
    with pytest.raises(ImportError):
        import npu_bridge  # type: ignore[import-not-found]  # noqa: F401
