"""Trains the converted MMoE on TFRecords with the tutorial's hyper-parameters; prints loss and AUC of both tasks.

migrate dataset census --synthetic 40000 --normalize -o data
migrate convert net.py --schema data/schema.yaml -o converted
python train.py --model converted/net.py --data data
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from migrate.errors import MigrateError
from migrate.schema import load_schema
from runtime import get_dense_and_sparse_variable, sparse_lookup
from runtime.optimizers import adagrad, adam, gradient_descent

TASKS = ("income", "marital")

#: name -> (optimizer of the dense variables, optimizer of the table), by learning rate
OPTIMIZERS: dict[str, tuple[Callable[[float], Any], Callable[[float], Any]]] = {
    "adam": (tf.train.AdamOptimizer, adam.create_hash_optimizer),
    "adagrad": (
        lambda rate: tf.train.AdagradOptimizer(rate, initial_accumulator_value=0.1),
        lambda rate: adagrad.create_hash_optimizer(rate, initial_accumulator_value=0.1),
    ),
    "sgd": (tf.train.GradientDescentOptimizer, gradient_descent.create_hash_optimizer),
}


def auc(labels: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> float:
    """Return the area under the ROC curve: the chance that a positive outranks a negative, ties counting half.

    Raises:
        ValueError: there is no positive or no negative label.
    """
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        raise ValueError("AUC needs both positive and negative labels in the test rows; use more rows")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # of equal scores, the mean rank
    return float((ranks[labels == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def load_model(path: Path) -> ModuleType:
    """Import the converted module from its file."""
    if not path.is_file():
        raise MigrateError(f"{path} does not exist; make it with `migrate convert net.py --schema … -o …`")
    spec = importlib.util.spec_from_file_location("converted_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batches(path: Path, net: ModuleType, batch_size: int, *, training: bool, seed: int) -> dict[str, Any]:
    """Return one batch as tensors: `label` [B, 2], `sparse_feature` [B, S] (int64), `dense_feature` [B, D] (float)."""
    if not path.is_file():
        raise MigrateError(f"{path} does not exist; make it with `migrate dataset census -o {path.parent}`")
    features = {
        "label": tf.FixedLenFeature([len(TASKS)], tf.int64),
        "sparse_feature": tf.FixedLenFeature([len(net.SPARSE_FEATURES)], tf.int64),
        "dense_feature": tf.FixedLenFeature([net.DENSE_SIZE], tf.float32),
    }
    data = tf.data.TFRecordDataset(str(path))
    if training:
        data = data.cache().shuffle(20_000, seed=seed).repeat()
    # Whole batches are parsed at once: per row, parsing would cost more than the step.
    data = data.batch(batch_size).map(lambda rows: tf.parse_example(rows, features)).prefetch(4)
    iterator = tf.data.make_initializable_iterator(data)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return dict(iterator.get_next(), initializer=iterator.initializer)


def forward(net: ModuleType, model: Any, table: Any, batch: dict[str, Any], *, training: bool) -> dict[str, Any]:
    """Build the model on one batch; a lookup outside training never adds rows."""
    rows = sparse_lookup(table, net.sparse_keys(batch["sparse_feature"]), is_train=training)
    embedding = tf.reduce_sum(rows, axis=1)
    result: dict[str, Any] = net.build_model(model, embedding, batch["dense_feature"], batch["label"], training)
    return result


def train_step(loss: Any, optimizer: str, rate: float) -> Any:
    """Return the op of one step: one gradient over dense variables and table, then an update of each."""
    dense_vars, sparse_vars = get_dense_and_sparse_variable()
    make_dense, make_sparse = OPTIMIZERS[optimizer]
    dense_optimizer, sparse_optimizer = make_dense(rate), make_sparse(rate)
    grads = dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)
    return tf.group(
        dense_optimizer.apply_gradients(grads[: len(dense_vars)], tf.train.get_or_create_global_step()),
        sparse_optimizer.apply_gradients(grads[len(dense_vars) :]),
    )


def evaluate(session: Any, batch: dict[str, Any], output: dict[str, Any]) -> tuple[float, list[float]]:
    """Return the mean loss and the AUC of each task over the whole test file."""
    session.run(batch["initializer"])
    losses, labels, scores = [], [], []
    while True:
        try:
            loss, label, score = session.run([output["loss"], output["label"], output["pred"]])
        except tf.errors.OutOfRangeError:
            break
        losses.append(loss * len(label))
        labels.append(label)
        scores.append(np.stack(score, axis=1))
    truth, predicted = np.concatenate(labels), np.concatenate(scores)
    return sum(losses) / len(truth), [auc(truth[:, task], predicted[:, task]) for task in range(len(TASKS))]


def reachable(data: Path) -> list[float] | None:
    """Return the AUC that the generator's own probabilities reach; None when the test rows are not the generator's."""
    truth = data / "truth-test.csv"
    if not truth.is_file():
        return None
    probabilities, drawn = np.hsplit(np.loadtxt(truth, delimiter=",", skiprows=1, ndmin=2), [len(TASKS)])
    with tf.Graph().as_default(), tf.Session() as session:
        # One row more than the file has to have, so that a longer one is not taken for the same.
        records = tf.data.TFRecordDataset(str(data / "test.tfrecord")).batch(len(drawn) + 1)
        parsed = records.map(lambda rows: tf.parse_example(rows, {"label": tf.FixedLenFeature([len(TASKS)], tf.int64)}))
        labels = session.run(tf.data.make_one_shot_iterator(parsed).get_next())["label"]
    if not np.array_equal(labels, drawn):
        print(f"train: {truth} belongs to other rows than test.tfrecord and is ignored", file=sys.stderr)
        return None
    return [auc(labels[:, task], probabilities[:, task]) for task in range(len(TASKS))]


def show_reached(best: list[float], reached: list[float]) -> float:
    """Print reached against reachable AUC and return the smaller share."""
    shares = [ours / most for ours, most in zip(reached, best, strict=True)]
    for task, ours, most, share in zip(TASKS, reached, best, shares, strict=True):
        print(f"{task}: AUC {ours:.4f}, the generator's own probabilities reach {most:.4f}: {share:.3f} of it")
    return min(shares)


def create_model(net: ModuleType, path: Path, data: Path) -> Any:
    """Return the converted model for the features of the data; their sizes decide which key is whose."""
    schema = load_schema(data / "schema.yaml")
    features = tuple(feature.name for feature in schema.input.sparse)
    if (features, schema.input.offsets, schema.input.rows) != (
        net.SPARSE_FEATURES,
        net.SPARSE_OFFSETS,
        net.SPARSE_ROWS,
    ):
        raise MigrateError(f"{path} was converted for other features than {data}; convert it with {data}/schema.yaml")
    return getattr(net, schema.model.name)(**schema.model.arguments)


def run(args: argparse.Namespace) -> list[float]:
    """Train up to `args.steps` steps in all, evaluating on the way; return the last AUC of each task."""
    tf.set_random_seed(args.seed)
    net = load_model(args.model)
    model = create_model(net, args.model, args.data)
    table = net.create_embedding_table(model)
    train_batch = batches(args.data / "train.tfrecord", net, args.batch_size, training=True, seed=args.seed)
    test_batch = batches(args.data / "test.tfrecord", net, 2048, training=False, seed=args.seed)
    trained = forward(net, model, table, train_batch, training=True)
    tested = forward(net, model, table, test_batch, training=False)
    global_step = tf.train.get_or_create_global_step()
    step_op, size = train_step(trained["loss"], args.optimizer, args.learning_rate), table.size()

    print(f"{'step':>6} {'train loss':>11} {'test loss':>10}" + "".join(f"{f'AUC {t}':>13}" for t in TASKS) + "   rows")
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=args.checkpoint_dir, save_checkpoint_steps=args.eval_every, log_step_count_steps=0
    ) as session:
        step = session.run(global_step)
        if step >= args.steps:
            raise MigrateError(f"{args.checkpoint_dir} holds step {step}; give more --steps or another folder")
        while step < args.steps:
            loss, _ = session.run([trained["loss"], step_op])
            step += 1
            if step % args.eval_every == 0 or step == args.steps:
                rows = session.run(size)
                test_loss, reached = session.run_step_fn(
                    lambda step_context: evaluate(step_context.session, test_batch, tested)
                )
                if session.run(size) != rows:
                    raise AssertionError("evaluation added rows to the table")
                print(
                    f"{step:6d} {loss:11.4f} {test_loss:10.4f}" + "".join(f"{a:13.4f}" for a in reached) + f"{rows:7d}",
                    flush=True,
                )
    return list(reached)


def positive(text: str) -> int:
    """Read a count of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def options() -> argparse.Namespace:
    """Read the command line; the defaults are the tutorial's hyper-parameters."""
    parser = argparse.ArgumentParser(description="Train the converted MMoE.")
    parser.add_argument("--model", type=Path, required=True, help="converted module, e.g. converted/net.py")
    parser.add_argument("--data", type=Path, required=True, help="folder that `migrate dataset census` wrote")
    parser.add_argument("--steps", type=positive, default=10_000, help="in all, with those of a resumed checkpoint")
    parser.add_argument("--eval-every", type=positive, default=2_000)
    parser.add_argument("--batch-size", type=positive, default=32)
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adam")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint-dir", help="save and resume here")
    parser.add_argument("--require-auc-ratio", type=float, help="exit 1 below this share of the reachable AUC")
    return parser.parse_args()


def train_and_judge(args: argparse.Namespace) -> int:
    """Train, compare with what is reachable, and return 1 when less than the required share was reached."""
    best = reachable(args.data)
    if best is None and args.require_auc_ratio is not None:
        raise MigrateError(f"{args.data} has no truth of its test rows; leave --require-auc-ratio out")
    reached = run(args)
    if best is None:
        return 0
    share = show_reached(best, reached)
    if args.require_auc_ratio is not None and not share >= args.require_auc_ratio:
        print(f"train: {share:.3f} is below the required {args.require_auc_ratio}", file=sys.stderr)
        return 1
    return 0


def reason(error: tf.errors.OpError) -> str:
    """Return the one line of TensorFlow's message that says what happened."""
    lines = [line for line in error.message.splitlines() if line.strip() and "[[{{" not in line]
    return lines[-1].strip() if lines else type(error).__name__


def main() -> int:
    """Run the program; 1 when the required AUC was missed, 2 when it could not run."""
    args = options()
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    try:
        return train_and_judge(args)
    except tf.errors.DataLossError as error:
        problem = f"a record in {args.data} cannot be read ({reason(error)}); make the folder anew"
    except tf.errors.OpError as error:
        problem = reason(error)
    except (MigrateError, ValueError) as error:
        problem = str(error)
    print(f"train: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
