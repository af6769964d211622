"""Programs of Rec SDK's `examples`, with the switches that they offer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from benchmarks.vendor.programs import Listing, Program
from benchmarks.vendor.rec_sdk_data import LINES, write_data

_DEMO, _ESTIMATOR = "examples/demo/little_demo", "examples/demo/little_demo_estimator"
#: What a launcher sets, as dlrm and mmoe read it themselves.
_RANK = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "TRAIN_RANK_SIZE": "1"}
#: The switches of the programs' `run.sh`; every other value is run as well.
_DEMOS = {
    "CACHE_MODE": ("HBM", "DDR", "SSD"),
    "USE_DYNAMIC": "10",
    "USE_DYNAMIC_EXPANSION": "01",
    "USE_MULTI_LOOKUP": "10",
    "USE_MODIFY_GRAPH": "10",
    "USE_TIMESTAMP": "01",
    "USE_ONE_SHOT": "01",
    "USE_DP": "01",
    "USE_TUPLE_DATA_FORMAT": "01",
}
_OF_DEMO = {**_DEMOS, "USE_DETERMINISTIC": "01", "USE_PADDING_KEYS": "01"}
_OF_ESTIMATOR = {**_DEMOS, "ENABLE_SLICER_TEST": "01", "USE_EXPORT_SAVED_MODEL": "01"}
_OF_MODELS = {
    **{name: _DEMOS[name] for name in ("CACHE_MODE", "USE_DYNAMIC", "USE_DYNAMIC_EXPANSION")},
    **{"USE_MULTI_LOOKUP": "01", "USE_MODIFY_GRAPH": "10", "USE_FAAE": "01"},
}
#: By file of a program: constants, and smaller ones in their place. A program has no flags for them.
_SHORT_DEMO = {
    "main.py": {"STEPS = 200": "STEPS = 4", "STEPS = 100": "STEPS = 2", "STEPS = 10": "STEPS = 2", "L = 100": "L = 2"},
    "config.py": {"self.batch_size = 4096": "self.batch_size = 64"},
}
_SHORT_ESTIMATOR = {"config.py": _SHORT_DEMO["config.py"]}
_SHORT_DLRM = {
    "main_mxrec.py": {"train_steps = 10000": "train_steps = 10", "eval_steps = 1360": "eval_steps = 2"},
    "../../model_common.py": {
        **{"batch_size = 8192": "batch_size = 256", "line_per_sample = 1024": f"line_per_sample = {LINES}"},
        "train_epoch = 3": "train_epoch = 1",
    },
}
_SHORT_MMOE = {
    "main_mxrec.py": {"train_steps = 1000": "train_steps = 10", "eval_steps = 1500": "eval_steps = 3"},
    "config.py": {"train_epoch = 100": "train_epoch = 1"},
}
_STEPS = (
    *("--max_steps=4", "--train_steps=2", "--eval_steps=2", "--max_data_generate_steps=8"),
    "--save_checkpoints_steps=2",
)
_CRITEO = ("--feature_size=1000", "--train_size=1024", "--batch_size=128", "--deep_layers=40,40")
_CRITEO_MODELS = ("deepfm", "pnn", "fibinet", "autoint_plus", "afn_plus")
_ALICCP_MODELS = ("din", "sharedbottom", "esmm", "can", "eta", "ple")


def _switched(switches: Mapping[str, Iterable[str]]) -> Iterable[dict[str, str]]:
    """Return the switches of `run.sh`, then with each other value of each."""
    usual = {name: next(iter(values)) for name, values in switches.items()}
    yield usual
    for name, values in switches.items():
        yield from ({**usual, name: value} for value in itertools.islice(values, 1, None))


def _programs() -> Iterable[Program]:
    done = "Demo done!"
    for switches in _switched(_OF_DEMO):
        rounds = tuple({"USE_MODE": mode} for mode in ("train", "load_and_train", "predict"))
        yield Program(_DEMO, ("--tf1", "main.py"), done, switches=switches, rounds=rounds, smaller=_SHORT_DEMO)
    for switches in _switched(_OF_ESTIMATOR):
        # An export deletes the checkpoints that predict would read; for the two others see the remark.
        usual = {"USE_EXPORT_SAVED_MODEL": "0", "USE_MODIFY_GRAPH": "1", "USE_TUPLE_DATA_FORMAT": "0"}
        predicts = all(switches[name] == value for name, value in usual.items())
        rounds = tuple({"RUN_MODE": mode} for mode in ("train_and_evaluate", "predict")[: 2 if predicts else 1])
        yield Program(
            _ESTIMATOR,
            ("--tf1", "main.py", *_STEPS),
            done,
            remark="With `USE_MODIFY_GRAPH=0` or `USE_TUPLE_DATA_FORMAT=1` it trains and evaluates alone: its predict "
            "then asks for specifications and labels that only evaluation has",
            switches=switches,
            rounds=rounds,
            smaller=_SHORT_ESTIMATOR,
        )
    for folder, data, shorter in (
        ("examples/dlrm/model", "criteo_lines", _SHORT_DLRM),
        ("examples/mmoe", "census", _SHORT_MMOE),
    ):
        for switches in _switched(_OF_MODELS):
            yield Program(
                folder,
                ("--tf1", "main_mxrec.py"),
                done,
                data=data,
                switches={**_RANK, "DLRM_CRITEO_DATA_PATH": "{data}", **switches},
                smaller=shorter,
                copied="examples",
            )
    zoo = "examples/rec_model_zoo"
    for part, data, models, options in (
        ("feature_interaction", "criteo", _CRITEO_MODELS, _CRITEO),
        ("behaviour_and_multi_task", "aliccp", _ALICCP_MODELS, ("--batch_size=128", "--max_seq_len=50")),
    ):
        for model in models:
            yield Program(
                f"{zoo}/{part}/src",
                ("--tf1", f"models/{model}.py", "--task_type=train", "--data_dir={data}/", *options),
                r"Saving dict for global step \d+",
                data=data,
                expects=("../logs/criteo", "../logs/aliccp", "../log/aliccp"),
            )


LISTING = Listing(
    "mx_rec",
    "rec_sdk",
    "Rec SDK's examples under the façade",
    """The programs are those of `Ascend/RecSDK`, folder `examples`: both little demos, dlrm, mmoe, and eleven models of
the model zoo (the others call the same functions). They need `easydict`, `scikit-learn` and `pytz`. The demos, dlrm and
mmoe are run with the switches of their `run.sh`, and with every other value of each; little_demo trains, goes on from
its checkpoint and predicts. Constants are smaller than in the programs (steps, batches), so that a run is short. The
page was made of a transcription of the published files, since no copy of the repository was at hand.

Besides, all legal combinations of the first six or seven switches of the four programs with switches ran on 26
November 2026, and did their work; the estimator predicted with those of `USE_DYNAMIC=1` and `USE_ONE_SHOT=0`. Two
errors of the estimator's own keep its predict from some of them, see below, and Rec SDK itself refuses mmoe's tables
on a host with `USE_DYNAMIC=0`, which are smaller than a batch asks for.""",
    tuple(_programs()),
    write_data,
)
