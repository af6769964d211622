"""Programs that predict clicks or ratings from tables of made-up features, one repository after the other."""

from __future__ import annotations

import json
import pickle
import random
import types
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]


def _criteo(folder: Path) -> None:
    drawn = random.Random(7)
    (folder / "data").mkdir(exist_ok=True)
    rows = []
    for _ in range(2400):
        numbers = [str(drawn.randint(0, 20)) for _ in range(13)]
        ids = [f"{drawn.randint(0, 60) * 7919:08x}" for _ in range(26)]
        rows.append("\t".join([str(drawn.randint(0, 1)), *numbers, *ids]) + "\n")
    (folder / "data" / "train_small.txt").write_text("".join(rows))


def _libfm(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data" / "frappe"
    target.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", 1200), ("validation", 200), ("test", 200)):
        lines = []
        for _ in range(rows):
            ids = " ".join(f"{40 * field + drawn.randint(0, 39)}:1" for field in range(10))
            lines.append(f"{drawn.choice((-1, 1))} {ids}\n")
        (target / f"frappe.{name}.libfm").write_text("".join(lines))


def _drivers(folder: Path) -> None:
    drawn = random.Random(7)
    columns = [*(f"ps_reg_0{one}" for one in (1, 2, 3)), *(f"ps_car_{one}" for one in (12, 13, 14, 15))]
    columns += [*(f"ps_car_0{one}_cat" for one in range(1, 10)), *(f"ps_ind_0{one}" for one in range(1, 6))]
    for name, rows in (("train", 4000), ("test", 300)):
        lines = [",".join(["id", *(["target"] if name == "train" else []), *columns])]
        for row in range(rows):
            values = [f"{drawn.random():.3f}" if one < 7 else str(drawn.randint(0, 25)) for one in range(len(columns))]
            lines.append(",".join([str(row), *([str(row % 2)] if name == "train" else []), *values]))
        (folder / "data" / f"{name}.csv").write_text("\n".join([*lines, ""]))


def _adverts(folder: Path) -> None:
    import tensorflow as tf

    drawn = random.Random(7)
    numbers = dict.fromkeys(("label", "has_target", "is_conversion"), 3)
    numbers |= {"user_id": 100, "creative_id": 500, "terminal": 10, "hour": 24, "weekday": 7, "template_category": 9}
    numbers |= {"day_user_show": 50, "day_user_click": 9, "city_code": 80, "network_type": 19}
    words = {"keyword": 2, "keyword_attention": 20, "device_type": 1, "device_model": 1, "manufacturer": 1}
    words |= {"creative_id_att": 1, "product_id_att": 1, "user_click_creatives_att": 10, "user_click_products_att": 10}
    (folder / "samples").mkdir()
    with tf.io.TFRecordWriter(str(folder / "samples" / "part-0")) as writer:
        for _ in range(2000):
            feature = {"creative_history_ctr": tf.train.Feature(float_list={"value": [drawn.random()]})}
            for name, size in numbers.items():
                value = drawn.randint(0, 1) if name.endswith(("label", "conversion")) else drawn.randint(0, size - 1)
                feature[name] = tf.train.Feature(int64_list={"value": [value]})
            for name, size in words.items():
                values = [f"{name}{drawn.randint(0, 60)}".encode() for _ in range(size)]
                feature[name] = tf.train.Feature(bytes_list={"value": values})
            writer.write(tf.train.Example(features={"feature": feature}).SerializeToString())


def _films(folder: Path) -> None:
    import numpy as np

    drawn = np.random.RandomState(7)
    for name, rows in (("train", 3000), ("valid", 200), ("test", 200)):
        parts = {
            "i_other": drawn.randint(1, 3500, (rows, 6)),
            "x_other": np.ones((rows, 6)),
            "i_genre": drawn.randint(1, 30, (rows, 6)),
            "x_genre": np.ones((rows, 6)),
            "y": drawn.randint(0, 2, rows),
        }
        for part, values in parts.items():
            np.save(folder / "data" / f"{name}_{part}.npy", values)


def _masked(folder: Path) -> None:
    import tensorflow as tf

    drawn = random.Random(7)
    config = {"attention_probs_dropout_prob": 0.2, "hidden_act": "gelu", "hidden_dropout_prob": 0.5, "hidden_size": 16}
    config |= {"initializer_range": 0.02, "intermediate_size": 32, "max_position_embeddings": 20}
    config |= {"num_attention_heads": 2, "num_hidden_layers": 1, "type_vocab_size": 2, "vocab_size": 150}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab").write_bytes(pickle.dumps(types.SimpleNamespace(counter=dict.fromkeys(range(149), 1))))
    with tf.io.TFRecordWriter(str(folder / "train.tfrecord")) as writer:
        for row in range(1000):
            ids = [drawn.randint(1, 149) for _ in range(20)]
            numbers = {"info": [row], "input_ids": ids, "input_mask": [1] * 20}
            places = sorted(drawn.sample(range(20), 4))
            numbers |= {"masked_lm_positions": places, "masked_lm_ids": [ids[place] for place in places]}
            feature = {name: tf.train.Feature(int64_list={"value": one}) for name, one in numbers.items()}
            feature["masked_lm_weights"] = tf.train.Feature(float_list={"value": [1.0] * 4})
            writer.write(tf.train.Example(features={"feature": feature}).SerializeToString())


def _ctrnet(title: str) -> Program:
    """Return the program from the part of its script that trains one of its models."""
    later = {} if title == "FM" else {rf"(?s)^#FM\nhparam.*?^#{title}\n": f"#{title}\n"}
    mended = {r"int\([12]e5\)": "2000", r"num_eval_steps=1000": "num_eval_steps=10**6", **later}
    command = ("test.py",)
    return Program(f"ctrNet {title}", "guoday/ctrNet-tool", "b4747884ca", "session", command, ".", (), _criteo, mended)


def _prediction(folder: str) -> Program:
    mended = {
        r"from tensorflow.python.estimator": "from tensorflow_estimator.python.estimator",
        r"hash_bucket_size=\d+": "hash_bucket_size=1000",
        r"^def list_hdfs_dir\(path\):": "def list_hdfs_dir(path):\n    return [path + 'part-0']",
        r"num_parallel_calls=\d+": "num_parallel_calls=1",
    }
    if folder == "ESMM":  # what its model reads, but not its `input_fn`, which says "use your own"
        mended |= {
            r'^FixedLenFeatureColumns=\["label"': 'FixedLenFeatureColumns=["is_conversion", "label"',
            r"^    classes = .*": "    classes = {'ctr_label': tf.to_float(feature['label']), "
            "'cvr_label': tf.to_float(feature['is_conversion'])}",
        }
    options = ("--train_data_dir=samples/", "--eval_data_dir=samples/", "--batch_size=64", "--hidden_units=16,8")
    command = ("train.py", *options)
    return Program(
        f"prediction {folder}",
        "qiaoguan/deep-ctr-prediction",
        "f8d83d6da2",
        "estimator",
        command,
        folder,
        (),
        _adverts,
        mended,
    )


def _rating(model: str) -> Program:
    mended = {r"\.\./Data/": "../data/"}
    command = ("test_rating_pred.py", "--model", model)
    needs = ("models", "utils", "data/ml100k")
    return Program(
        f"DeepRec {model}", "cheungdaven/DeepRec", "68a34cb495", "session", command, "test", needs, mended=mended
    )


def _sequence(model: str) -> Program:
    command = ("testSeqRec.py", "--model", model)
    needs = ("models", "utils", "data/ml100k")
    return Program(f"DeepRec {model}", "cheungdaven/DeepRec", "68a34cb495", "session", command, "test", needs)


def _deepctr(script: str, kind: str = "estimator") -> Program:
    return Program(
        script,
        "shenweichen/DeepCTR",
        "1b5fe40e15",
        kind,
        (f"{script}.py",),
        "examples",
        ("deepctr",),
        mended={r"batch_size=(32|256)": "batch_size=8", r"epochs=10": "epochs=30"},
        tf2=kind == "keras",
    )


PROGRAMS = (
    *map(_ctrnet, ("FM", "FFM", "NFFM", "Xdeepfm")),
    Program(
        "NeuralFM",
        "hexiangnan/neural_factorization_machine",
        "ca2a5d11b9",
        "session",
        ("NeuralFM.py", "--hidden_factor", "16"),
        needs=(),
        data=_libfm,
        python2=True,
    ),
    Program(
        "NeuralFM's FM",
        "hexiangnan/neural_factorization_machine",
        "ca2a5d11b9",
        "session",
        ("FM.py", "--hidden_factor", "16"),
        needs=(),
        data=_libfm,
        python2=True,
    ),
    Program(
        "tensorflow-DeepFM",
        "ChenglongChen/tensorflow-DeepFM",
        "a43dd5ff1f",
        "session",
        ("main.py",),
        "example",
        ("DeepFM.py",),
        _drivers,
        {r'"batch_size": 1024': '"batch_size": 128'},
    ),
    *map(_prediction, ("ESMM", "DeepFM", "Din", "Fibinet", "DeepCross", "XDeepFM")),
    Program(
        "AutoInt",
        "DeepGraphLearning/RecommenderSystems",
        "e07370a8d5",
        "session",
        ("-m", "code.train", "--data_path", "data", "--field_size", "7", "--batch_size", "128", "--run_times", "1"),
        "featureRec/movielens",
        data=_films,
    ),
    Program(
        "BERT4Rec",
        "FeiSun/BERT4Rec",
        "615eaf2004",
        "estimator",
        (
            *("run.py", "--train_input_file=train.tfrecord", "--test_input_file=train.tfrecord", "--do_train=True"),
            *("--bert_config_file=config.json", "--checkpointDir=model", "--max_seq_length=20", "--batch_size=32"),
            *("--max_predictions_per_seq=4", "--num_train_steps=60", "--num_warmup_steps=5"),
            *("--vocab_filename=vocab", "--user_history_filename=none"),
        ),
        needs=(),
        data=_masked,
    ),
    *map(_rating, ("MF", "NRR", "NFM", "DEEP-FM")),
    *map(_sequence, ("AttRec", "PRME")),
    _deepctr("run_estimator_pandas_classification"),
    _deepctr("run_estimator_tfrecord_classification"),
    *(
        _deepctr(f"run_{script}", "keras")
        for script in ("classification_criteo", "classification_criteo_hash", "multivalue_movielens", "din", "mtl")
    ),
)
