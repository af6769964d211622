"""Programs that were published as notebooks: their cells of code, one after the other, are the script."""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS", "script"]


def script(notebook: Path, target: Path, changes: Mapping[str, str]) -> None:
    """Write the cells of code of a notebook, without magic commands, and changed by regular expressions."""
    cells = json.loads(notebook.read_text())["cells"]
    code = "\n\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    always = {r"^%.*$": "", r"^.*notebook_utils.*$": "", r"^store_metadata.*$": ""}
    for old, new in {**always, **changes}.items():
        code = re.sub(old, new, code, flags=re.MULTILINE)
    target.write_text(code)


def _fields(folder: Path) -> None:
    drawn = random.Random(7)
    (folder / "data").mkdir()
    for name, rows in (("train", 1000), ("valid", 64), ("test", 64)):
        lines = []
        for _ in range(rows):
            features = " ".join(f"{one}:{40 * one - drawn.randint(0, 39)}:1" for one in range(1, 9))
            lines.append(f"{drawn.randint(0, 1)} {features}\n")
        (folder / "data" / f"cretio_tiny_{name}").write_text("".join(lines))


def _histories(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data"
    target.mkdir()
    for name, words in (("user", 60), ("item", 200), ("category", 20)):
        vocabulary = {"default": 0, **{f"{name[0]}{one}": one for one in range(1, words)}}
        (target / f"{name}_vocab.pkl").write_bytes(pickle.dumps(vocabulary))
    for name, rows, negatives in (("train", 900, 0), ("valid", 12, 4), ("test", 12, 9)):
        lines = []
        for _ in range(rows):
            length = drawn.randint(2, 9)
            items, kinds = (
                ",".join(f"{word}{drawn.randint(1, size)}" for _ in range(length))
                for word, size in (("i", 199), ("c", 19))
            )
            times = ",".join(str(1_400_000_000 + 90_000 * one) for one in range(length))
            user = f"u{drawn.randint(1, 59)}"
            for label in (1, *[0] * negatives):
                of_item = [f"i{drawn.randint(1, 199)}", f"c{drawn.randint(1, 19)}", "1401000000"]
                lines.append("\t".join([str(label), user, *of_item, items, kinds, times]) + "\n")
        (target / f"{name}_data").write_text("".join(lines))


def _notebook(
    name: str, notebook: str, data: Callable[[Path], None], changes: Mapping[str, str], mended: Mapping[str, str]
) -> Program:
    def prepare(folder: Path) -> None:
        data(folder)
        script(folder / notebook, folder / "notebook.py", changes)

    needs = ("recommenders", notebook)
    command = ("notebook.py",)
    return Program(
        f"recommenders {name}",
        "recommenders-team/recommenders",
        "b02c95e2",
        "session",
        command,
        ".",
        needs,
        prepare,
        mended,
        remark="`notebook.py` is the code of the notebook.",
    )


def _sequential(module: str, model: str) -> Program:
    changes = {
        r"sequential\.sli_rec import SLI_RECModel": f"sequential.{module} import {model}",
        r"^data_path = .*$": "data_path = 'data'",
        r"\.\./\.\./recommenders/models/deeprec/config/sli_rec": f"recommenders/models/deeprec/config/{module}",
        r"^from recommenders\.datasets\.amazon_reviews.*$": "",
        r"BATCH_SIZE = 400": "BATCH_SIZE = 40",
        r"show_step=20": "show_step=1",
        r"EPOCHS = 10": "EPOCHS = 2",
    }
    mended = {r"^from tensorflow\.python\.keras": "from tensorflow.keras"}
    notebook = "examples/00_quick_start/sequential_recsys_amazondataset.ipynb"
    return _notebook(model, notebook, _histories, changes, mended)


_XDEEPFM = {
    r"^tmpdir = .*$": "",
    r"^tmpdir\.cleanup.*$": "",
    r"^data_path = .*$": "data_path = 'data'",
    r"(?s)^if not os\.path\.exists\(yaml_file\):.*?\.zip'\)$": "",
    r"BATCH_SIZE = 4096": "BATCH_SIZE = 32",
    r"prepare_hparams\(yaml_file, ": "prepare_hparams(None, model_type='xDeepFM', method='classification', dim=8, "
    "data_format='ffm', activation=['relu', 'relu'], dropout=[0.0, 0.0], loss='log_loss', save_model=False, "
    "metrics=['auc', 'logloss'], ",
    r"FEATURE_COUNT=2300000": "FEATURE_COUNT=320",
    r"FIELD_COUNT=39": "FIELD_COUNT=8",
}

PROGRAMS = (
    _notebook("xDeepFM", "examples/00_quick_start/xdeepfm_criteo.ipynb", _fields, _XDEEPFM, {}),
    _notebook(
        "xDeepFM with FM",
        "examples/00_quick_start/xdeepfm_criteo.ipynb",
        _fields,
        {**_XDEEPFM, r"use_CIN_part=True": "use_FM_part=True, embed_l1=0.01"},
        {},
    ),
    _sequential("sli_rec", "SLI_RECModel"),
    _sequential("asvd", "A2SVDModel"),
    _sequential("caser", "CaserModel"),
    _sequential("gru", "GRUModel"),
)
