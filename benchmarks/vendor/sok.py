"""Programs of SparseOperationKit, as NVIDIA-Merlin/HugeCTR publishes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.vendor.programs import Listing, Program

_TOP = "sparse_operation_kit"
_TESTS = f"{_TOP}/sparse_operation_kit/test/function_test"
#: The same as `-n`: two ranks, and every other number as well.
_RANKS = ("2", "1", "3")
#: What the tests and examples of lookups lower; they compare with stock TensorFlow, whatever the sizes are. A batch is
#: a multiple of the ranks, as some compare the whole batch with the shares of all ranks.
_SIZES = {
    "819200 * 5 * 10": "8192 * 5",
    "8192": "252",
    "65536": "256",
    "iters = 100": "iters = 8",
    "in range(100)": "in range(8)",
    "vocab_size = 1024 * 128": "vocab_size = 1024 * 2",
    "vocab_size = 1023 * 1024 * 2": "vocab_size = 1023 * 16",
    "sleep_seconds = 15": "sleep_seconds = 2",
}
#: Tests below tf1 and tf2.
_FIRST = {
    "lookup": (
        *("all2all_dense_embedding", "lookup_sparse_distributed_dynamic", "lookup_sparse_distributed_hkv"),
        *("lookup_sparse_distributed", "lookup_sparse_hkv_incremental_dump", "lookup_sparse_localized_dynamic"),
        *("lookup_sparse_localized_hkv", "lookup_sparse_localized", "sparse_read_evict"),
    ),
    "lookup_sp_weight": (
        *("lookup_sparse_distributed_dynamic", "lookup_sparse_distributed", "lookup_sparse_localized_dynamic"),
        "lookup_sparse_localized",
    ),
    "variable": ("assign_and_export", "dynamic_variable", "filter_variables", "hkv", "sok_sgd"),
}
_SECOND = {
    "dump_load": (
        *("dump_load_distribute_dynamic", "dump_load_distribute_static", "dump_load_distribute_static_big_table"),
        *("dump_load_localized_dynamic", "dump_load_localized_static"),
    ),
    "lookup": (
        *_FIRST["lookup"],
        *("lookup_sparse_distributed_dynamic_test_without_redefine", "lookup_sparse_hkv_low_frequency"),
        "lookup_sparse_distributed_dynamic_with_sample_key_zero",
    ),
    "lookup_sp_weight": _FIRST["lookup_sp_weight"],
    "variable": (*_FIRST["variable"], "assign_and_export_hkv"),
}
#: Names of files that do not end in `_test.py`.
_PLAIN = ("sparse_read_evict", "dump_load", "without_redefine")
_DRAWN = ("initial_vals = np.random.randint(1, 100, gpu_num)", "initial_vals = [3 + x for x in range(gpu_num)]")
_REMARKS = {
    "tf1/lookup_sp_weight/lookup_sparse_localized": "It feeds two tables by number, so it needs two ranks.",
    "tf1/lookup_sp_weight/lookup_sparse_localized_dynamic": (
        "It feeds two tables by number, so it needs two ranks, which draw their own initial values in the original."
    ),
    "tf2/lookup/lookup_sparse_distributed_dynamic_with_sample_key_zero": (
        "It compares places of the whole batch with a rank's share, so it needs one rank."
    ),
    "tf2/variable/dynamic_variable": "It calls no `sok.init`, and is for the optimizers before TensorFlow 2.11.",
}


#: Numbers of ranks, where a test of the vendor's allows no others; `_REMARKS` says why.
_ONLY: Mapping[str, tuple[str, ...]] = {
    "tf1/lookup_sp_weight/lookup_sparse_localized": ("2",),
    "tf1/lookup_sp_weight/lookup_sparse_localized_dynamic": ("2",),
    "tf2/lookup/lookup_sparse_distributed_dynamic_with_sample_key_zero": ("1",),
}


def _over_ranks(program: Program, numbers: Iterable[str] = _RANKS) -> Iterable[Program]:
    return (replace(program, switches={"RECMIGRATE_SOK_RANKS": number}) for number in numbers)


def _tests() -> Iterable[Program]:
    for version, folders in (("tf1", _FIRST), ("tf2", _SECOND)):
        for folder, names in folders.items():
            for name in names:
                yield from _over_ranks(_test(version, folder, name), _ONLY.get(f"{version}/{folder}/{name}", _RANKS))


def _test(version: str, folder: str, name: str) -> Program:
    file = f"{name}.py" if any(one in name for one in _PLAIN) else f"{name}_test.py"
    alone = "sample_key_zero" in name
    legacy = (version, folder, name) == ("tf2", "variable", "dynamic_variable")
    options = ["--tf1"] if version == "tf1" else []
    drawn = version == "tf1" and folder == "lookup_sp_weight" and name.endswith("localized_dynamic")
    return Program(
        f"{_TESTS}/{version}/{folder}",
        (*options, *(["--legacy-optimizers"] if legacy else []), file),
        r"(?s).*" if alone else r"(?i)(pass|success|\[SOK INFO\]).*",
        mended={file: _DRAWN} if drawn else {},
        smaller={file: _SIZES},
        remark=_REMARKS.get(f"{version}/{folder}/{name}", ""),
    )


_EXAMPLES = (
    Program(f"{_TOP}/example/sok_dump_load", ("dump_load.py",), r"(?i)success.*", smaller={"dump_load.py": _SIZES}),
    Program(
        f"{_TOP}/example/sok_incremental_dump",
        ("incremental_dump_test.py",),
        r"(?i)pass.*",
        smaller={"incremental_dump_test.py": _SIZES},
    ),
    Program(
        f"{_TOP}/SOK_DLRM_Benchmark",
        (
            *("--gpus", "main.py", "--data_dir", "{data}", "--global_batch_size", "48", "--epochs", "1"),
            *("--optimizer_name", "adagrad", "--lr", "0.01", "--eval_in_last"),
        ),
        r"main time: \S+",
        data="dlrm",
        mended={
            "model.py": ("        if amp:", '        if self._dtype_policy.name == "mixed_float16":'),
        },
        remark="With `--amp` Keras refuses a loss scale around `sok.OptimizerWrapper`, which is no optimizer of Keras.",
    ),
    Program(
        f"{_TOP}/documents/tutorials/DLRM_Benchmark",
        (
            *("main.py", "--data_dir", "{data}", "--global_batch_size", "48", "--epochs", "1"),
            *("--lr", "0.01", "--eval_in_last"),
        ),
        r"main time: \S+",
        data="dlrm",
    ),
)


def write_data(kind: str, folder: Path) -> None:
    """Write 4 batches of 64 samples to train and as many to test: 26 features of one id each."""
    random = np.random.default_rng(7)
    sizes = [20 + 3 * number for number in range(26)]
    for part in ("train", "test"):
        (folder / part).mkdir()
        random.integers(0, 2, 256).astype(np.int32).tofile(folder / part / "label.bin")
        random.random((256, 13)).astype(np.float32).tofile(folder / part / "dense.bin")
        random.integers(0, sizes, (256, 26)).astype(np.int32).tofile(folder / part / "category.bin")
    meta = {
        "vocab_sizes": sizes,
        "label_raw_type": "int32",
        "dense_raw_type": "float32",
        "category_raw_type": "int32",
        "dense_log": False,
        "hotness_per_table": [1] * len(sizes),
    }
    (folder / "train" / "metadata.json").write_text(json.dumps(meta))


LISTING = Listing(
    "sok",
    "sok",
    "NVIDIA's programs for SparseOperationKit under the façade",
    """The programs are those of `NVIDIA-Merlin/HugeCTR`, in `sparse_operation_kit`. Tables, batches and numbers of
steps are smaller in the copies that run. The tests compare with stock TensorFlow. They run as one, two and
three ranks here, by `RECMIGRATE_SOK_RANKS`, which is the same as `-n`, over Horovod, which those of `tf1` need; a test
of one variable connects no ranks, and each process runs it alone. Three tests are for one number of ranks, as is said
below. The incremental dumps need `pytz`. Left out are tests of SOK's own operators (`op_test`), and `unit_test` of 1.x,
which installs `cupy` for a GPU.""",
    (*_tests(), *(one for example in _EXAMPLES for one in _over_ranks(example))),
    write_data,
)
