"""Programs of DeepRec's model zoo, as openeuler-mirror/sra_benchmark publishes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.vendor.deeprec_data import write_data
from benchmarks.vendor.programs import Listing, Program

_SMALL = ("train.py", "--data_location", "{data}", "--steps", "20")
#: By kind of data; those of `features` read text unless their kind has its Parquet named.
_ZOO = {
    "criteo": ("wide_and_deep", "dlrm", "deepfm", "dcn", "dcnv2", "dffm", "mlperf", "masknet"),
    "taobao": ("ple", "mmoe", "simple_multitask", "dssm", "esmm", "dbmtl", "bst"),
    "amazon": ("din", "dien"),
}
_FEATURES = {
    "criteo": (
        *(f"{one}/wide_and_deep" for one in ("adagraddecay_optimizer", "embedding_variable", "estimator")),
        *(f"{one}/wide_and_deep" for one in ("gpu_fused_embedding", "work_queue")),
        *(f"{one}/deepfm" for one in ("embedding_variable", "gpu_fused_embedding", "grouped_embedding", "runtime")),
        *("gpu_fused_embedding/dlrm", "grouped_embedding/dcnv2", "kaggle_categorical_int64/deepfm"),
    ),
    "amazon": tuple(
        f"{one}/dien"
        for one in (
            *("adamasync_optimizer", "dynamic_dimension_embedding_variable", "embedding_variable"),
            "multihash_variable",
        )
    ),
}
#: What is wrong in a program, in TensorFlow 1.15 as here, by file.
_MENDED: dict[str, dict[str, tuple[str, str]]] = {
    "mmoe": {"train.py": (" import time\nimport argparse", "import time\nimport argparse")},
    **{
        name: {"train.py": ("initializer(), data_init_op)", "initializer(), train_init_op)")}
        for name in ("esmm", "simple_multitask")
    },
    "dynamic_dimension_embedding_variable/dien": {
        "script/model.py": ("import pandas as pd", "import pandas as pd; from tensorflow.python.framework import ops")
    },
    "grouped_embedding/deepfm": {
        "train.py": (
            "if mode == tf.estimator.ModeKeys.EVAL:\n",
            "if mode == tf.estimator.ModeKeys.EVAL:\n            self._create_loss()\n",
        )
    },
}
_REMARKS = {
    "mmoe": "A blank stands before its first line.",
    "din": "Its training initializes no lookup tables; a `Scaffold` does it here.",
    "dien": "Its training initializes no lookup tables; a `Scaffold` does it here.",
    "grouped_embedding/dcnv2": "It imports Horovod, and trains in one process, on a quarter of the batch.",
    "grouped_embedding/deepfm": "In one process.",
}


def _programs(top: str, kinds: Mapping[str, Iterable[str]]) -> Iterable[Program]:
    for kind, names in kinds.items():
        for name in names:
            batches = () if top.endswith("features") and kind == "amazon" else ("--batch_size", "128")
            yield Program(
                f"{top}/{name}",
                (*_SMALL, *batches),
                _SHOWS,
                data="criteo_numbers" if "int64" in name else kind,
                mended=_MENDED.get(name, {}),
                remark=_REMARKS.get(name, ""),
            )


#: The end of an evaluation, or of an Estimator's, or of those that print their own, or of training alone.
_SHOWS = r"(AUC\d? = |global_step = |test_auc: )[\w.]+|Training completed"
LISTING = Listing(
    "deeprec",
    "deeprec",
    "DeepRec's model zoo under the façade",
    """The programs are those of `openeuler-mirror/sra_benchmark`, in `modelzoo`, by the default command: all switches
stay as they are (Parquet, fused embeddings and ops, smart stages), only the steps and the batch are small. They need
`pyarrow`, those of `features/*/dien` also `pandas`.""",
    (*_programs("modelzoo", _ZOO), *_programs("modelzoo/features", _FEATURES)),
    write_data,
)
