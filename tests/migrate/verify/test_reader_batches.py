"""The batches that the proof takes of a reader are those of Paddle's loader, and a reader that fails is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.paddle
READER = """
import numpy as np
from paddle.io import {base}


class RecDataset({base}):
    def __init__(self, files, config):
        super().__init__()
        self.files, self.most = files, config["most"]

    def sample(self, i):
        if i == self.most:
            raise ValueError("line 5 has no label")
        return {sample}

{methods}
"""
OF_ITERABLE = "    def __iter__(self):\n        for i in range(7):\n            yield self.sample(i)\n"
OF_MAP = "    def __len__(self):\n        return 7\n\n    def __getitem__(self, i):\n        return self.sample(i)\n"
SAMPLES = {
    "arrays": '[np.array([i, 2]), np.array([i / 2], "float32")]',
    "a mapping": '{"ids": [i, 1], "label": np.full([2], i, "int32"), "price": 0.5 * i}',
}


def given(folder: Path, base: str, sample: str, most: int, size: int | None) -> dict[str, Any]:
    methods = OF_ITERABLE if base == "IterableDataset" else OF_MAP
    (folder / "data").mkdir()
    (folder / "data" / "part").write_text("")
    (folder / "own_reader.py").write_text(READER.format(base=base, sample=sample, methods=methods))
    config = {"runner.train_data_dir": "data", "runner.train_reader_path": "own_reader", "most": most}
    return {
        "path": str(folder),
        "config": config | ({} if size is None else {"runner.train_batch_size": size}),
        "count": 9,
    }


def alike(mine: Any, of_paddle: Any) -> None:
    if isinstance(of_paddle, dict):
        assert list(mine) == list(of_paddle)
        mine, of_paddle = list(mine.values()), list(of_paddle.values())
    if isinstance(of_paddle, list | tuple):
        assert len(mine) == len(of_paddle)
        for one, other in zip(mine, of_paddle, strict=True):
            alike(one, other)
        return
    expected = np.asarray(of_paddle)
    assert (mine.dtype, mine.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("base", ["IterableDataset", "Dataset"])
@pytest.mark.parametrize("size", [3, None])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_batches_are_those_of_paddles_loader(tmp_path: Path, base: str, size: int | None, sample: str) -> None:
    from paddle.io import DataLoader

    from migrate.verify.paddle.trainer import batches

    job = given(tmp_path, base, sample, -1, size)
    mine = batches.run(job)["batches"]
    import own_reader  # type: ignore[import-not-found]

    dataset = own_reader.RecDataset([], job["config"])
    loader = DataLoader(dataset, batch_size=size, drop_last=size is not None, return_list=True)
    alike(mine, [items for items in loader])  # noqa: C416 - `list` asks for its length
    assert len(mine) == (7 if size is None else 2)


@pytest.mark.parametrize("base", ["IterableDataset", "Dataset"])
def test_a_reader_that_fails_is_an_error(tmp_path: Path, base: str) -> None:
    from migrate.verify.paddle.trainer import batches

    with pytest.raises(ValueError, match="line 5 has no label"):
        batches.run(given(tmp_path, base, SAMPLES["arrays"], 5, 3))
