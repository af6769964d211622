"""Programs that read the history of a user, or a session."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]


def _sessions(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder.parent / "datasets" / "sample"
    target.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", 1500), ("test", 100)):
        sequences = [[drawn.randint(1, 309) for _ in range(drawn.randint(1, 8))] for _ in range(rows)]
        (target / f"{name}.txt").write_bytes(pickle.dumps((sequences, [drawn.randint(1, 309) for _ in range(rows)])))


def _interests(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data" / "book_data"
    target.mkdir(parents=True, exist_ok=True)
    for name, users in (("train", 300), ("valid", 150), ("test", 150)):
        rows = [(user, drawn.randint(1, 499), step) for user in range(users) for step in range(drawn.randint(8, 20))]
        (target / f"book_{name}.txt").write_text("".join(f"{user},{item},{step}\n" for user, item, step in rows))
    (target / "book_item_cate.txt").write_text("".join(f"{item},{item % 9}\n" for item in range(500)))
    (folder / "runs").mkdir()


def _histories(columns: int) -> Callable[[Path], None]:
    """Return what writes a history of `columns` numbers a line: user, item, and what else the program reads."""

    def write(folder: Path) -> None:
        drawn = random.Random(7)
        lines = []
        for user in range(1, 201):
            for step in range(drawn.randint(6, 25)):
                row = [user, drawn.randint(1, 120), drawn.randint(1, 5), 1000 + 50 * step]
                lines.append((" " if columns == 2 else "\t").join(map(str, row[:columns])) + "\n")
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "toy.txt").write_text("".join(lines))

    return write


def _clicks(folder: Path) -> None:
    drawn = random.Random(7)
    rows = [
        f"{session}\t{drawn.randint(1, 80)}\t{step}" for session in range(400) for step in range(drawn.randint(4, 9))
    ]
    (folder / "train.txt").write_text("\n".join(["SessionId\tItemId\tTime", *rows, ""]))
    (folder / "test.txt").write_text("\n".join(["SessionId\tItemId\tTime", *rows[:300], ""]))


def _stamp(folder: Path) -> None:
    drawn = random.Random(7)
    (folder / "datas" / "cikm16").mkdir(parents=True, exist_ok=True)
    for name, sessions in (("train_full", 2500), ("test", 200)):
        rows = [
            f"{one}\t{drawn.randint(1, 200)}\t{step}" for one in range(sessions) for step in range(drawn.randint(3, 8))
        ]
        text = "\n".join(["sessionId\titemId\tTime", *rows, ""])
        (folder / "datas" / "cikm16" / f"cmki16_{name}.txt").write_text(text)


def _adverts(folder: Path) -> None:
    drawn = random.Random(7)
    users, items, cates = 100, 150, 12
    train, test = [], []
    for user in range(users):
        for _ in range(15):
            history = [drawn.randint(0, items - 1) for _ in range(drawn.randint(2, 9))]
            train.append((user, history, drawn.randint(0, items - 1), drawn.randint(0, 1)))
        test.append((user, history, (drawn.randint(0, items - 1), drawn.randint(0, items - 1))))
    of_items = np.array([drawn.randint(0, cates - 1) for _ in range(items)])
    with (folder / "dataset.pkl").open("wb") as file:
        for part in (train, test, of_items, (users, items, cates)):
            pickle.dump(part, file)


def _reviews(folder: Path) -> None:
    drawn = random.Random(7)
    users, items, cates = [
        [f"{kind}{one}" for one in range(size)] for kind, size in (("U", 100), ("I", 195), ("C", 15))
    ]
    for name, words in (("uid", users), ("mid", ["default_mid", *items]), ("cat", ["default_cat", *cates])):
        (folder / f"{name}_voc.pkl").write_bytes(pickle.dumps({word: place for place, word in enumerate(words)}))
    (folder / "item-info").write_text("".join(f"{item}\t{drawn.choice(cates)}\n" for item in items))
    (folder / "reviews-info").write_text("".join(f"{drawn.choice(users)}\t{item}\n" for item in items))
    for name, rows in (("train", 2600), ("test", 260)):
        lines = []
        for row in range(rows):
            length = drawn.randint(2, 12)
            histories = ["\x02".join(drawn.choices(words, k=length)) for words in (items, cates)]
            ids = [drawn.choice(words) for words in (users, items, cates)]
            lines.append("\t".join([str(row % 2), *ids, *histories]) + "\n")
        (folder / f"local_{name}_splitByUser").write_text("".join(lines))


def _memories(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data" / "book_data"
    target.mkdir(parents=True)
    (target / "book_feature.pkl").write_bytes(pickle.dumps(400))
    for name, rows in (("train", 1000), ("test", 100)):
        lines = []
        for row in range(rows):
            lists = [",".join(str(drawn.randint(0, 399)) for _ in range(10)) for _ in range(4)]
            ids = [str(drawn.randint(1, 399)) for _ in range(3)]
            lines.append("\t".join([*ids, str(row % 2), *lists]) + "\n")
        (target / f"book_{name}.txt").write_text("".join(lines))


_SAMPLER = {r"n_workers=3": "n_workers=1", r"num_batch = len\(user_train\) / ": "num_batch = len(user_train) // "}


def _comirec(model: str) -> Program:
    return Program(
        f"ComiRec {model}",
        "THUDM/ComiRec",
        "a576eed8b6",
        "session",
        ("src/train.py", "--dataset", "book", "--model_type", model, "--embedding_dim", "16", "--hidden_size", "16"),
        ".",
        ("src",),
        _interests,
        {
            r"item_count = 367983": "item_count = 500",
            r"input\('Please.*'\)": "'x'",
            r"batch_size = 128$": "batch_size = 32",
        },
    )


def _of_din(folder: str) -> Program:
    return Program(
        f"DeepInterestNetwork {folder}",
        "zhougr1993/DeepInterestNetwork",
        "9765f96202",
        "session",
        ("train.py",),
        folder,
        (),
        _adverts,
        {r"range\((\w+)/": r"range(\1//"},
        python2=True,
    )


#: Names of recurrent networks, of which the models that are run here take `dynamic_rnn` and cells alone.
_RECURRENT: Mapping[str, str] = {
    r"^from rnn import dynamic_rnn": "dynamic_rnn = tf.nn.dynamic_rnn",
    r"^from tensorflow.python.ops.rnn_cell_impl import  _Linear": "",
    r"^from tensorflow.python.ops.rnn import bidirectional_dynamic_rnn as bi_rnn": "",
    r"^from tensorflow.python.ops.rnn_cell import \*": "from tensorflow.compat.v1.nn.rnn_cell import RNNCell",
    r"^from keras import": "from tensorflow.keras import",
}


def _mimn(model: str) -> Program:
    mended = {
        r"maxlen = 100": "maxlen = 10",
        r"batch_size = 128": "batch_size = 32",
        r"open\(feature_file\)": "open(feature_file, 'rb')",
        **_RECURRENT,
    }
    command = ("script/train_book.py", "-p", "train", "--model_type", model)
    return Program(
        f"MIMN {model}",
        "UIC-Paper/MIMN",
        "5cd5ccf",
        "session",
        command,
        ".",
        ("script",),
        _memories,
        mended,
        python2=True,
    )


def _dien(model: str) -> Program:
    mended: Mapping[str, str] = {r"key\.encode\(.UTF-8.\)": "key", **_RECURRENT}
    return Program(
        f"dien {model}",
        "mouna99/dien",
        "1f314d16aa",
        "session",
        ("script/train.py", "train", model),
        ".",
        ("script",),
        _reviews,
        mended,
        python2=True,
    )


PROGRAMS = (
    Program("SR-GNN", "CRIPAC-DIG/SR-GNN", "e21cfa431f", "session", ("main.py",), "tensorflow_code", (), _sessions),
    *map(_comirec, ("DNN", "GRU4REC", "MIND", "ComiRec-SA", "ComiRec-DR")),
    Program(
        "SASRec",
        "kang205/SASRec",
        "e3738967fd",
        "session",
        ("main.py", "--dataset=toy", "--train_dir=default", "--maxlen=20", "--batch_size=32", "--num_blocks=1"),
        data=_histories(2),
        mended=_SAMPLER,
        python2=True,
    ),
    Program(
        "TiSASRec",
        "JiachengLi1995/TiSASRec",
        "0e831e161a",
        "session",
        ("main.py", "--dataset=toy", "--train_dir=default", "--maxlen=15", "--batch_size=32", "--num_blocks=1"),
        data=_histories(4),
        mended=_SAMPLER,
    ),
    Program(
        "GRU4Rec",
        "Songweiping/GRU4Rec_TensorFlow",
        "d53fd9e7d0",
        "session",
        ("main.py", "--size", "16"),
        "gru4rec_BP",
        data=_clicks,
        mended={
            r"'/PATH/TO/rsc15_train_full.txt'": "'train.txt'",
            r"'/PATH/TO/rsc15_test.txt'": "'test.txt'",
            r"\.sort\(": ".sort_values(",
        },
        python2=True,
    ),
    Program(
        "STAMP",
        "uestcnlp/STAMP",
        "c0233b6531",
        "session",
        ("cmain.py", "-m", "stamp_cikm", "-d", "cikm16", "-n", "-r"),
        data=_stamp,
        mended={
            r"root_path = '/home/zyf/code'": "root_path = '.'",
            r"project_name = '/STAMP'": "project_name = ''",
            "dill": "pickle",
        },
        arrays=True,
    ),
    Program(
        "practice DIN",
        "princewen/tensorflow_practice",
        "b3696f757a",
        "session",
        ("train.py",),
        "recommendation/Basic-DIN-Demo",
        data=_adverts,
    ),
    *map(_of_din, ("din", "base_model", "wide_deep", "pnn", "deepFM")),
    *map(_mimn, ("MIMN", "MIMN_with_aux", "DIN", "RUM")),
    *map(_dien, ("DIN", "PNN", "Wide", "DNN")),
)
