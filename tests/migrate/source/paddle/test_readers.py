"""The batch that the machine reads from a reader is the one that Paddle's `DataLoader` makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.host.sparse import FUNCTIONS
from migrate.source.paddle.abstract.readers import batch_of
from migrate.source.paddle.abstract.values import Refuse, Tensor
from tests.support.paddle.reader_files import CONFIG, ITERABLE, write

SLOTS = """
        def init(self):
            self.slots = "click 1 2 dense".split(" ")
            self.index = {name: i for i, name in enumerate(self.slots)}
            self.visit = {}

        def __iter__(self):
            for file in self.file_list:
                with open(file, "r") as rf:
                    for l in rf:
                        output = [(name, []) for name in self.slots]
                        for part in l.strip().split(" "):
                            slot, value = part.split(":")
                            if slot not in self.slots:
                                continue
                            value = float(value) if slot == "dense" else int(value)
                            output[self.index[slot]][1].append(value)
                            self.visit[slot] = True
                        for i in self.slots:
                            if not self.visit.get(i):
                                output[self.index[i]][1].extend([0])
                            else:
                                self.visit[i] = False
                        row = []
                        for key, value in output[:-1]:
                            row.append(np.array(value).astype('int64'))
                        row.append(np.array(output[-1][1]).astype("float32"))
                        yield row
"""
INDEXED = """
    class RecDataset(Dataset):
        def __init__(self, file_list, config):
            super().__init__()
            self.rows = np.loadtxt(file_list[0], dtype=np.int64)
            self.more = [json.loads(x) for x in open(file_list[1])]
            fo = open("tmp.txt", "w")
            fo.write("dropped")
            fo.close()

        def __getitem__(self, i):
            return self.rows[i], paddle.to_tensor([self.more[i]["a"]]), self.more[i]["b"]

        def __len__(self):
            return len(self.rows)
"""
PACKED = """
        def __iter__(self):
            for file in self.file_list:
                with gzip.open(file, "rt", encoding="utf-8") as lines:
                    texts = [line.split(",") for line in lines]
                with gzip.open(file) as lines:
                    for text, line in zip(texts, lines):
                        fields = line.decode().split(",")
                        assert fields == text
                        yield np.array(fields[:2], dtype="float32"), int(fields[2])
"""
Case = tuple[str, Mapping[str, str], Any]
ROW = Tensor((None, 1), "int64")
CASES: dict[str, Case] = {
    "slots": (
        ITERABLE + SLOTS,
        {"data/train/a.txt": "click:1 1:3 2:4 dense:0.5 dense:1\nclick:0 2:5 9:1 dense:1 dense:2\n" * 2},
        [ROW, ROW, ROW, Tensor((None, 2), "float32")],
    ),
    "packed": (
        ITERABLE + PACKED,
        {"data/train/a.gz": "1,2,3\n4,5,6\n", "data/train/b.gz": "1.5,0,0\n"},
        [Tensor((None, 2), "float32"), Tensor((None,), "int64")],
    ),
    "indexed": (
        INDEXED,
        {"data/train/x.txt": "1 2 3\n4 5 6\n", "data/train/y.json": '{"a": 1.5, "b": true}\n{"a": 2.5, "b": false}\n'},
        [Tensor((None, 3), "int64"), Tensor((None, 1), "float32"), Tensor((None,), "bool")],
    ),
}


def spec(batch: Any) -> Any:
    """Return a batch with (shape, dtype) in place of tensors."""
    if isinstance(batch, dict):
        return {key: spec(item) for key, item in batch.items()}
    return (batch.shape, batch.dtype) if isinstance(batch, Tensor) else [spec(item) for item in batch]


@pytest.mark.parametrize("name", CASES)
def test_the_batch_of_a_reader(name: str, tmp_path: Path) -> None:
    reader, data, wanted = CASES[name]
    assert spec(batch_of(write(tmp_path, reader, data), tmp_path)) == spec(wanted)


def test_a_damaged_packed_file_is_told(tmp_path: Path) -> None:
    files = write(tmp_path, ITERABLE + PACKED, {"data/train/a.gz": "1,2,3\n" * 50})
    packed = (tmp_path / "data/train/a.gz").read_bytes()
    for damaged in (packed[:20], packed[:14] + b"\xff" * 12 + packed[26:], b"1,2,3\n"):
        (tmp_path / "data/train/a.gz").write_bytes(damaged)
        with pytest.raises(MigrateError, match="cannot be determined from the reader"):
            batch_of(files, tmp_path)


LIBRARIES = """
    import os, cv2, nltk, scipy.sparse
    from nltk.tokenize import word_tokenize
    from scipy import sparse
    nltk.download("punkt")

    class RecDataset(IterableDataset):
        def __init__(self, file_list, config):
            super().__init__()
            self.ids, self.files = {}, file_list
            for text in [str(i) for i in range(1200)]:
                word = "word" + text
                self.ids[word] = len(self.ids)

        def __iter__(self):
            for file in self.files:
                if file.endswith(".png"):
                    continue
                picture = cv2.imread(file.replace(".txt", ".png"))
                small = np.transpose(cv2.resize(picture, (4, 8)), (2, 0, 1))[:, np.newaxis]
                for line in open(file):
                    words = [self.ids.get(word, 0) for word in word_tokenize(line)]
                    cells = ([1.0] * len(words), ([0] * len(words), words))
                    row = sparse.coo_matrix(cells, shape=[1, 6], dtype=np.float32).toarray()
                    counts = scipy.sparse.csr_matrix(cells, shape=(2, 7))
                    yield np.array(words), row, counts.toarray().sum(0), picture, small, counts.shape[0]
"""


def test_what_readers_use_of_scipy_nltk_and_opencv(tmp_path: Path) -> None:
    files = write(tmp_path, LIBRARIES, {"data/train/a.txt": "word5, word3!\nword2 word1 word2 word4\n"})
    (tmp_path / "data/train/a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x03 more")
    assert spec(batch_of(files, tmp_path)) == [
        ((None, 4), "int64"),
        ((None, 1, 6), "float32"),
        ((None, 7), "float64"),
        ((None, 3, 5, 3), "uint8"),
        ((None, 3, 1, 8, 4), "uint8"),
        ((None,), "int64"),
    ]


def test_a_sparse_matrix_adds_the_entries_of_a_place() -> None:
    entries, made = ([1, 2, 4], ([0, 1, 0], [2, 0, 2])), FUNCTIONS["scipy.sparse.coo_matrix"]
    assert made(entries, dtype="int16").toarray().tolist() == [[0, 0, 5], [2, 0, 0]]
    assert made((2, 1)).tocsr().toarray().tolist() == [[0], [0]]
    with pytest.raises(ValueError, match="beyond"):
        made(entries, shape=(2, 2))
    with pytest.raises(Refuse, match="array this large"):
        made(entries, shape=(10**6, 10**6)).toarray()
    with pytest.raises(ValueError, match="differ in number"):
        made(([1], ([0, 1], [0, 1])))


@pytest.mark.paddle
@pytest.mark.parametrize("name", CASES)
def test_paddle_makes_the_same_batch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import paddle
    import yaml

    reader, data, _ = CASES[name]
    files = write(tmp_path, reader, data)
    found = spec(batch_of(files, tmp_path))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "my_reader"}
    exec(files["my_reader.py"], names)
    config = yaml.safe_load(CONFIG) | {"config_abs_dir": str(tmp_path)}
    paths = sorted(str(path) for path in (tmp_path / "data/train").iterdir())
    loader = paddle.io.DataLoader(names["RecDataset"](paths, config=config), batch_size=2, drop_last=True)
    batches = list(iter(loader))
    assert batches
    for batch in batches:
        assert agrees(found, batch)


def agrees(found: Any, batch: Any) -> bool:
    """Return whether a batch of Paddle has the structure, dtypes and known sizes that were found."""
    if isinstance(found, dict):
        return set(found) == set(batch) and all(agrees(found[key], batch[key]) for key in found)
    if isinstance(found, list):
        return len(found) == len(batch) and all(map(agrees, found, batch))
    shape, dtype = found
    array = batch.numpy()
    same = len(shape) == array.ndim and all(a in (None, b) for a, b in zip(shape, array.shape, strict=True))
    return same and shape[0] is None and array.dtype.name == dtype
