"""Configurations of EasyRec, which a program of its own trains; `protoc` of the package `grpcio-tools` is needed."""

from __future__ import annotations

import random
import re
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]

_CONFIGURATIONS = (
    *("deepfm_combo_on_avazu_ctr", "wide_and_deep_on_avazau_ctr", "deepfm_combo_on_avazu_adamw_ctr"),
    *("din_on_taobao", "mmoe_on_taobao", "esmm_on_taobao", "bst_on_taobao", "dlrm_on_taobao", "dcn_on_taobao"),
    *("fm_on_taobao", "autoint_on_taobao", "dssm_on_taobao", "mind_on_taobao", "ple_on_taobao"),
    *("multi_tower_on_taobao", "fibinet_on_taobao", "dbmtl_on_sequence_feature_taobao"),
)
_SMALLER = {
    r"\bbatch_size: \d+": "batch_size: 64",
    r"hash_bucket_size: ?\d+": "hash_bucket_size: 500",
    r"num_steps: \d+": "num_steps: 40",
    r"sync_replicas: ?[Tt]rue": "sync_replicas: false",
    r"(train|eval)_input_path: *\S+": r'\1_input_path: "data.csv"',
    r"model_dir: *\S+": 'model_dir: "model"',
    r"hidden_units: ?\[(?![^\]]*\b1 *\])[^\]]*\]": "hidden_units: [16, 8]",  # but for those of an attention's scores
}


def _prepare(folder: Path) -> None:
    """Compile the formats of the configurations, make those smaller, and write rows of the inputs that they list."""
    import grpc_tools  # type: ignore[import-not-found, unused-ignore]
    from grpc_tools import _protoc_compiler

    formats = sorted((folder / "easy_rec" / "python" / "protos").glob("*.proto"))
    own = Path(str(grpc_tools.__file__)).parent / "_proto"
    options = [f"-I{folder}", f"-I{own}", f"--python_out={folder}"]
    if _protoc_compiler.run_main([one.encode() for one in ("protoc", *options, *map(str, formats))]):
        raise OSError("its formats cannot be compiled")
    for path in (folder / "samples" / "model_config").glob("*.config"):
        text = path.read_text(encoding="utf-8")
        for old, new in _SMALLER.items():
            text = re.sub(old, new, text)
        path.write_text(text, encoding="utf-8")
        if path.stem in _CONFIGURATIONS:
            inputs = re.findall(r"input_name: *['\"](\w+)['\"]\s+input_type: *(\w+)", text)
            _rows(folder / f"{path.stem}.csv", inputs)
            path.write_text(text.replace("data.csv", f"{path.stem}.csv"), encoding="utf-8")


def _rows(path: Path, inputs: list[tuple[str, str]]) -> None:
    drawn, lengths = random.Random(7), random.Random(8)
    lines = []
    for _ in range(2000):
        length = lengths.randint(1, 8)  # of all lists of a row
        lines.append(",".join(_value(name, kind, length, drawn) for name, kind in inputs) + "\n")
    path.write_text("".join(lines))


def _value(name: str, kind: str, length: int, drawn: random.Random) -> str:
    if name in ("label", "clk", "buy"):
        return str(int(drawn.random() < 0.4))
    if name.endswith("_list"):
        return "|".join(str(drawn.randint(1, 90)) for _ in range(length))
    return str(drawn.randint(0, 20)) if kind != "STRING" or name == "price" else str(drawn.randint(1, 90))


def _configuration(name: str) -> Program:
    command = ("-m", "easy_rec.python.train_eval", "--pipeline_config_path", f"samples/model_config/{name}.config")
    needs = ("easy_rec", "samples/model_config")
    return Program(f"EasyRec {name}", "alibaba/EasyRec", "bd230cb1a3", "estimator", command, ".", needs, _prepare)


PROGRAMS = tuple(map(_configuration, _CONFIGURATIONS))
