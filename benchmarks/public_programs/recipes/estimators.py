"""Programs whose Estimators predict more than one label, and export what they have learned."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]

_WORDS, _LISTS = 4, 2


def _labels(folder: Path) -> None:
    """Write a file of features and examples: numbers, a vector, single words, and lists of five words."""
    import tensorflow as tf

    drawn = random.Random(7)
    rows = [("age", "float", "none"), ("price", "float", "none"), ("user_vec", "vector", "none")]
    rows += [(f"word{one}", "string", "none") for one in range(_WORDS)]
    rows += [(f"list{one}", "arr", "top=5") for one in range(_LISTS)]
    (folder / "conf").mkdir()
    lines = [f"{name}\t-\t{kind}\t-\t-\t-\ttop\t{parse}\t0\t{name}\t0\n" for name, kind, parse in rows]
    (folder / "conf" / "dnn.conf").write_text("".join(lines))
    for name, number in (("train", 1600), ("test", 200)):
        (folder / name / "20200102").mkdir(parents=True)
        with tf.io.TFRecordWriter(str(folder / name / "20200102" / "part-0")) as writer:
            for _ in range(number):
                ids = [drawn.randint(0, 299) for _ in range(_WORDS + 5 * _LISTS)]
                numbers = {"label": 1, "label2": 1, "cont_feats": 2, "vector_feats": 200}
                feature = {
                    key: tf.train.Feature(
                        float_list={"value": [round(drawn.random(), 0 if "label" in key else 3) for _ in range(size)]}
                    )
                    for key, size in numbers.items()
                }
                feature["cate_feats"] = tf.train.Feature(int64_list={"value": ids})
                writer.write(tf.train.Example(features={"feature": feature}).SerializeToString())


def _of_labels(model: str, *more: str) -> Program:
    folders = ("conf", "train/", "test/", "exported/", "model/")
    return Program(
        f"estimator_labels {model}",
        "Albert-lwf/deep_learning_estimator_labels",
        "7462de8",
        "estimator",
        (f"local_run_{model}.py", "20200102", model, "train", "1", "8", "300", *folders, "0", "16,8", *more),
        data=_labels,
        mended={r"self\.batch_size = 1024": "self.batch_size = 64"},
    )


PROGRAMS = (_of_labels("esmm"), _of_labels("mmoe", "8", "3", "0.5", "0.5"))
