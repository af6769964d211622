"""A program for Rec SDK in the manner of its small demo: a session, two tables, switches in the environment.

Several ranks share each batch, and train with the mean of their losses. `SAVE_PATH` says where the tables that are
trained go, `LOAD_PATH` from where they come instead of being trained.
"""

import os

import numpy as np
import tensorflow as tf
from mx_rec.constants.constants import (
    ASCEND_SPARSE_LOOKUP_ID_OFFSET,
    ASCEND_SPARSE_LOOKUP_LOCAL_EMB,
    ASCEND_TIMESTAMP,
)
from mx_rec.core.asc.feature_spec import FeatureSpec
from mx_rec.core.asc.helper import get_asc_insert_func
from mx_rec.core.asc.manager import start_asc_pipeline
from mx_rec.core.embedding import create_table, sparse_lookup
from mx_rec.graph.modifier import modify_graph_and_start_emb_cache
from mx_rec.optimizers.adagrad import create_hash_optimizer
from mx_rec.optimizers.adagrad_by_addr import create_hash_optimizer_by_address
from mx_rec.util.communication.hccl_ops import get_rank_id, get_rank_size
from mx_rec.util.initialize import (
    ConfigInitializer,
    get_initializer,
    get_use_dynamic_expansion,
    init,
    terminate_config_initializer,
)
from mx_rec.util.tf_version_adapter import hccl_ops
from mx_rec.util.variable import get_dense_and_sparse_variable

if tf.executing_eagerly():
    tf.compat.v1.disable_eager_execution()

DYNAMIC, MODIFY, EXPANSION, MULTI, FAAE, DP, MEAN = (
    bool(int(os.getenv(f"USE_{name}", "0")))
    for name in ("DYNAMIC", "MODIFY_GRAPH", "DYNAMIC_EXPANSION", "MULTI_LOOKUP", "FAAE", "DP", "MEAN")
)
SIZES = {
    "HBM": {"device_vocabulary_size": 100},
    "DDR": {"device_vocabulary_size": 100, "host_vocabulary_size": 200},
    "SSD": {
        "device_vocabulary_size": 100,
        "host_vocabulary_size": 200,
        "ssd_vocabulary_size": 1000,
        "ssd_data_path": [os.getenv("SSD_DATA_PATH", ".")],
    },
}[os.getenv("CACHE_MODE", "HBM")]
DIMS = {"user": 4, "item": 2}


def read(is_training):
    """Return the samples; those for evaluation have ids that training has seen."""
    random = np.random.RandomState(3)
    ids = {"user_ids": random.randint(20, size=(40, 3)), "item_ids": random.randint(10, size=(40, 2))}
    labels = random.rand(40).astype(np.float32)
    rows = {**{key: value.astype(np.int64) for key, value in ids.items()}, "label": labels}
    if not is_training:
        rows = {key: value[::-1][:16] for key, value in rows.items()}
    own = tf.data.Dataset.from_tensor_slices(rows).shard(get_rank_size(), get_rank_id())
    return own.batch(8 // get_rank_size(), drop_remainder=True)


def make_batch_and_iterator(specs, is_training):
    """Return the batch of the dataset that sends the ids of these specifications, and its iterator."""
    dataset = read(is_training)
    if FAAE:
        dataset = dataset.map(lambda batch: {**batch, "timestamp": tf.constant(1000, tf.int64)})
    if not MODIFY:
        dataset = dataset.map(get_asc_insert_func(tgt_key_specs=specs, is_training=is_training, dump_graph=False))
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset.prefetch(10))
    return iterator.get_next(), iterator


def create_feature_spec_list():
    """Return a specification for each lookup."""
    thresholds = {"access_threshold": 1, "eviction_threshold": 100} if FAAE else {}
    specs = [FeatureSpec(f"{name}_ids", table_name=name, **thresholds) for name in DIMS]
    if MULTI:
        specs.append(FeatureSpec("user_ids", table_name="user", **thresholds))
    return specs + ([FeatureSpec("timestamp", is_timestamp=True)] if FAAE else [])


def model_forward(specs, tables, batch, is_train):
    """Return the loss; with several lookups of a table their rows are added."""
    config = {"access_threshold": 1, "eviction_threshold": 100} if FAAE and MODIFY else None
    names = [*DIMS, *(["user"] if MULTI else [])]
    found = dict.fromkeys(DIMS, 0.0)
    for name, spec in zip(names, specs, strict=False):
        ids = batch[f"{name}_ids"] if MODIFY else spec
        rows = sparse_lookup(
            tables[name],
            ids,
            None if DYNAMIC else 24,
            is_train=is_train,
            name=name + "_lookup",
            modify_graph=MODIFY,
            batch=batch if DYNAMIC else None,
            access_and_evict_config=config,
            dim=None,
        )
        found[name] += tf.reduce_sum(rows, axis=1)
    with tf.compat.v1.variable_scope("net", reuse=tf.compat.v1.AUTO_REUSE):
        start = tf.compat.v1.constant_initializer(0.2 + get_rank_id())  # rank 0's is that of all
        kernel = tf.compat.v1.get_variable("kernel", [6, 1], initializer=start)
    out = tf.squeeze(tf.matmul(tf.concat([found[name] for name in DIMS], 1), kernel), 1)
    return tf.reduce_mean((out - batch["label"]) ** 2)


def train_ops(loss, dense_optimizer, sparse_optimizer):
    """Return the ops of a training step: the dense variables', then the tables'."""
    dense, sparse = get_dense_and_sparse_variable()
    pairs = dense_optimizer.compute_gradients(loss, var_list=dense)
    averaged = [(hccl_ops.allreduce(grad, "sum") / get_rank_size(), variable) for grad, variable in pairs]
    ops = [dense_optimizer.apply_gradients(averaged)]
    loss = loss if MEAN else loss / get_rank_size()
    if EXPANSION:
        sparse = tf.compat.v1.get_collection(ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
        addresses = tf.compat.v1.get_collection(ASCEND_SPARSE_LOOKUP_ID_OFFSET)
        grads = tf.gradients(loss, sparse)
        return [*ops, sparse_optimizer.apply_gradients([grads, addresses])]
    return [*ops, sparse_optimizer.apply_gradients(list(zip(tf.gradients(loss, sparse), sparse, strict=True)))]


def run(session, fetches):
    """Run to the end of the data."""
    while True:
        try:
            print("loss", session.run(fetches)[0])
        except tf.errors.OutOfRangeError:
            break


def main():
    """Train for five steps, then evaluate."""
    init(True, train_steps=5, eval_steps=2, use_dynamic=DYNAMIC, use_dynamic_expansion=EXPANSION, use_hot=False)
    specs = {mode: None if MODIFY else create_feature_spec_list() for mode in (True, False)}
    batch, iterator = make_batch_and_iterator(specs[True], True)
    eval_batch, eval_iterator = make_batch_and_iterator(specs[False], False)
    by_address = get_use_dynamic_expansion()
    create = create_hash_optimizer_by_address if by_address else create_hash_optimizer
    optimizers = tf.compat.v1.train.GradientDescentOptimizer(0.1), create(0.1, initial_accumulator_value=0.1)
    tables = {
        name: create_table(
            key_dtype=tf.int64,
            dim=tf.TensorShape([dim]),
            name=name,
            emb_initializer=tf.compat.v1.constant_initializer(0.3),
            is_dp=DP and name == "item",
            all2all_gradients_op="sum_gradients_and_div_by_ranksize" if MEAN else "sum_gradients",
            optimizer_list=[optimizers[1]],
            **SIZES,
        )
        for name, dim in DIMS.items()
    }
    if FAAE and MODIFY:
        for each in (batch, eval_batch):
            tf.compat.v1.add_to_collection(ASCEND_TIMESTAMP, each["timestamp"])
    none = [None] * 3
    loss = model_forward(specs[True] or none, tables, batch, True)
    eval_loss = model_forward(specs[False] or none, tables, eval_batch, False)
    train = train_ops(loss, *optimizers)
    loss, eval_loss = (hccl_ops.allreduce(one, "sum") / get_rank_size() for one in (loss, eval_loss))
    if MODIFY:
        modify_graph_and_start_emb_cache(dump_graph=False)
        initializers = [get_initializer(mode) for mode in (True, False)]
        eval_label = ConfigInitializer.get_instance().train_params_config.get_target_batch(False)["label"]
    else:
        start_asc_pipeline()
        initializers = [iterator.initializer, eval_iterator.initializer]
        eval_label = eval_batch["label"]
    saver = tf.compat.v1.train.Saver()
    with tf.compat.v1.Session() as session:
        session.run([tf.compat.v1.global_variables_initializer(), initializers[0]])
        if os.getenv("LOAD_PATH"):
            saver.restore(session, os.getenv("LOAD_PATH"))
        else:
            run(session, [loss, train])
        if os.getenv("SAVE_PATH"):
            saver.save(session, os.getenv("SAVE_PATH"))
        session.run(initializers[1])
        run(session, [eval_loss, eval_label])
        print("sizes", *(table.size() for table in tables.values()))
    terminate_config_initializer()


if __name__ == "__main__":
    main()
