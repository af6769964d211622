"""Files of small models: a reader in the styles of PaddleRec, its settings and its sample data."""

from __future__ import annotations

import gzip
import textwrap
from collections.abc import Mapping
from pathlib import Path

CONFIG = "runner: {train_data_dir: data/train, train_reader_path: my_reader, train_batch_size: 2}\nmax_len: 4\n"
HEAD = """
    import csv, gzip, io, json, os, random, re
    import numpy as np
    from collections import defaultdict
    from random import shuffle
    from paddle.io import Dataset, IterableDataset
    import paddle
"""
ITERABLE = """
    class RecDataset(IterableDataset):
        def __init__(self, file_list, config):
            super(RecDataset, self).__init__()
            self.file_list = file_list
            self.config = config
            self.init()

        def init(self):
            pass

        def lines(self):
            for file in self.file_list:
                with open(file, "r") as rf:
                    yield from rf
"""


def write(folder: Path, reader: str, data: Mapping[str, str], config: str = CONFIG) -> dict[str, str]:
    """Write a model's folder; return its Python and YAML files."""
    files = {"my_reader.py": textwrap.dedent(HEAD) + textwrap.dedent(reader), "config.yaml": config}
    for name, text in {**files, **data}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data_of = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
        (folder / name).write_bytes(data_of)
    return files
